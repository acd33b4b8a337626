"""Damaged models of ONNX's suite: each is compiled, or refused by an error of hidet's."""
