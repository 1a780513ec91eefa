"""Numbers that a chapter computes and its prose quotes."""

from __future__ import annotations

from IPython.display import display

from lib.checks import number

_PREFIX = "application/papermill.record/"


def say(**values: float | int | str) -> None:
    """Make values available to the prose of the same page as ``{glue:text}`name:.3g```, with full digits.

    A value is that of a column of a check, or stands beside its law (``executable_claims.beside``).
    Raises ``ValueError`` naming a value that is neither text nor one finite number.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            number(name, value)
        text = value if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)
        display(
            {_PREFIX + "text/plain": text},
            metadata={"scrapbook": {"name": name, "mime_prefix": _PREFIX}},
            raw=True,
        )
