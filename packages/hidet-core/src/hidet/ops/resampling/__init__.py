"""Resizing and sampling of images."""
