"""Several operators as one."""
