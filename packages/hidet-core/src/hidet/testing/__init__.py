"""What tests of hidet, of its plugins and of users' kernels share."""
