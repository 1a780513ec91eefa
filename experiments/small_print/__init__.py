"""Experiments of the small claims: a module a part, a function a claim, which returns a table of it."""
