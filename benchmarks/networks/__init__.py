"""The measured networks, written out: their layers and sizes are the published ones."""
