"""Closed forms, bounds and constants of the papers, one file a subject; each names its paper and equation."""
