"""The papers' experiments as pure functions of frozen configurations, and the command that runs them."""
