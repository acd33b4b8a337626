"""Memory of a kernel: what is read, written, and in which banks."""
