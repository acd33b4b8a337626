"""Boxes of tensors copied by the tensor memory accelerator."""
