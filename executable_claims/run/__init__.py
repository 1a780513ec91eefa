"""Runs the chapters: as tests, before a build, and with other theory, draws and kernels."""
