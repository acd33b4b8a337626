"""The CUDA driver, streams, device memory and arrays from elsewhere."""
