"""The command `hidet`: what this machine can do, what the cache holds, what an error means."""
