"""Gradient flows; `lib.flow.gradient` says how the flow of a two-layer network is computed."""

from lib.flow.gradient import gradient_flow

__all__ = ["gradient_flow"]
