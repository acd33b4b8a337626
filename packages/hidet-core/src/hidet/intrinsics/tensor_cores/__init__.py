"""Matrix instructions and their fragments."""
