"""Tiles of warpgroups: rings of boxes, wgmma, persistent tile loops."""
