"""Numbers that a chapter computes and its prose quotes."""

from __future__ import annotations

from IPython.display import display

_PREFIX = "application/papermill.record/"


def say(**values: float | int | str) -> None:
    """Make values available to the prose of the same page as ``{glue:text}`name:.3g```.

    Each keyword is a name of the page; numbers are passed on with full digits and formatted where quoted.
    """
    for name, value in values.items():
        text = value if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)
        display(
            {_PREFIX + "text/plain": text},
            metadata={"scrapbook": {"name": name, "mime_prefix": _PREFIX}},
            raw=True,
        )
