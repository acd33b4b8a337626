"""Convolutions that are no matmul: rows of lines, depthwise patches."""
