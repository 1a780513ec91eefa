"""Models: two-layer networks, stacks of small torch networks, and their tangent features."""
