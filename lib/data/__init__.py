"""Data that chapters share: synthetic families and digits."""
