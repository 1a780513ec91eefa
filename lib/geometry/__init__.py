"""Activation patterns and cones, and the convex programs on them."""
