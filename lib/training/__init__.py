"""Losses, objectives, and training by discrete steps."""
