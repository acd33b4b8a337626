"""What an archive says: launches, buffers and sizes that are not bound yet."""
