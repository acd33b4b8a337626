"""Products whose rows a norm reads next."""
