"""What the site's parts do to each page, and write beside the pages: in the order of ``look.PARTS``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sphinx.application import Sphinx

AFTER_THE_THEME = 900


def on_page(app: Sphinx, change: Callable[..., None]) -> None:
    """Let ``change`` see every page when the theme has made its parts."""
    app.connect("html-page-context", change, AFTER_THE_THEME)


def after_build(app: Sphinx, write: Callable[[Sphinx], None]) -> None:
    """Let ``write`` do its part after every build of pages that has not failed."""
    app.connect("build-finished", partial(_written, write), AFTER_THE_THEME)


def _written(write: Callable[[Sphinx], None], app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write(app)
