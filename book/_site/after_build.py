"""What the site's parts write beside the pages, when these are built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sphinx.application import Sphinx


def after_build(app: Sphinx, write: Callable[[Sphinx], None], priority: int = 500) -> None:
    """Let ``write`` do its part after every build of pages that has not failed."""
    app.connect("build-finished", partial(_written, write), priority)


def _written(write: Callable[[Sphinx], None], app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write(app)
