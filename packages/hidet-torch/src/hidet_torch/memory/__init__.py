"""PyTorch's tensors as hidet's memory: types, places, strides, streams; all else stands on it."""
