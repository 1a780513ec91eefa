"""Gradient flows, one file a method."""
