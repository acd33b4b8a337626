"""CUDA graphs made of nodes, with loops and branches on the device."""
