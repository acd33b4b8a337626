"""Convolutions, pools and what else reads windows."""
