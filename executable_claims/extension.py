"""The Sphinx extension: cards, pages of the ledger, addresses of claims, and execution on all cores."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from executable_claims import addresses, cards, execution, pages, papers

PARTS = (cards, pages, papers, addresses, execution)


def use_style(app: Sphinx, config: Config) -> None:
    """Let the site have the engine's style sheet beside its own."""
    config.html_static_path = [str(Path(__file__).parent / "static"), *config.html_static_path]


def setup(app: Sphinx) -> dict:
    """Register all parts; the order in which they do what comes last is the order here."""
    for part in PARTS:
        part.setup(app)
    app.add_css_file("executable_claims.css")
    app.connect("config-inited", use_style)
    return {"version": "1", "env_version": 3, "parallel_read_safe": False}
