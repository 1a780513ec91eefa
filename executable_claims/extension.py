"""The Sphinx extension: cards, pages of the ledger, addresses of claims, and execution on all cores."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from executable_claims import addresses, cards, execution, layout, outcomes, pages, papers, placeholders
from executable_claims.configuration import find_book

PARTS = (layout, outcomes, placeholders, cards, pages, papers, addresses, execution)


def use_style(app: Sphinx, config: Config) -> None:
    """Let the site have the engine's style sheet beside its own."""
    config.html_static_path = [str(Path(__file__).parent / "static"), *config.html_static_path]


def code_of_the_site(root: Path) -> str:
    """Return a digest of the code that makes the pages: the engine's, and the book's own extensions."""
    folders = [Path(__file__).parent, *(root / each for each in find_book(root).modules if each != ".")]
    paths = sorted(
        path for folder in folders for each in ("*.py", "templates/*") for path in folder.glob(each)
    )
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def setup(app: Sphinx) -> dict:
    """Register all parts; the order in which they do what comes last is the order here."""
    for part in PARTS:
        part.setup(app)
    app.add_config_value("code_of_the_site", code_of_the_site(Path(app.srcdir)), "env")  # pages are read anew
    app.add_css_file("executable_claims.css")
    app.connect("config-inited", use_style)
    return {"version": "1", "env_version": 4, "parallel_read_safe": False}
