"""JSON files that are written at once or not at all, and tell when they were damaged or changed.

Each file carries a checksum of its content.  A process that is killed while it writes leaves at most a file
whose name ends in ``.partial``, which nobody reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_json(name: str, content: Any, **options: Any) -> str:
    """Return ``content`` as JSON text, with further options of ``json.dumps``.

    Raises ``ValueError`` with the ``name`` for what JSON cannot hold, numbers that are not finite among it.

    Example:

    >>> as_json("metrics", {"loss": 0.5})
    '{"loss": 0.5}'
    """
    try:
        return json.dumps(content, allow_nan=False, ensure_ascii=False, **options)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not what JSON can hold: {error}") from None


def digest(content: Any) -> str:
    """Return a digest, 16 hexadecimal digits, of JSON content, whatever the order of its keys.

    Raises ``ValueError`` for content that JSON cannot hold.

    Example:

    >>> digest({"n": 1, "d": 2}) == digest({"d": 2, "n": 1})
    True
    """
    return hashlib.sha256(as_json("content", content, sort_keys=True).encode()).hexdigest()[:16]


def seal(path: Path, content: Mapping[str, Any], replace: bool = False) -> Path:
    """Write ``content`` with its checksum to ``path``, at once or not at all; return the path.

    Folders are made.  If there is such a file, it raises ``FileExistsError``, or with ``replace`` takes
    its place.  Raises ``ValueError`` for content that JSON cannot hold.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> path = seal(Path(folder.name, "one.json"), {"loss": 0.5})
    >>> unseal(path)
    {'loss': 0.5}
    >>> folder.cleanup()
    """
    if not isinstance(content, Mapping):
        raise ValueError(f"content is {content!r}, allowed: a dictionary")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _lines({**content, "checksum": digest(dict(content))})
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".partial")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o644)
        if replace:
            os.replace(partial, path)
        else:
            os.link(partial, path)  # unlike a renaming, this never takes the place of a file
    finally:
        Path(partial).unlink(missing_ok=True)
    return path


def _lines(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry, and for each dictionary in a list."""
    entries = []
    for name, value in content.items():
        text = as_json(name, value)
        if isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
            text = "[\n  " + ",\n  ".join(as_json(name, one) for one in value) + "\n ]"
        entries.append(f" {as_json(name, name)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def unseal(path: Path) -> dict[str, Any]:
    """Return the content of a sealed file.

    Raises ``ValueError`` that names the ``path`` if it is damaged or was changed after it was written.

    Example:

    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     unseal(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: path ... is damaged: it is no JSON (Expecting value: line 1 column 1 (char 0))
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"path {path} is damaged: it is no JSON ({error})") from None
    if not isinstance(content, dict) or "checksum" not in content:
        raise ValueError(f"path {path} is damaged: it has no checksum")
    checksum = content.pop("checksum")
    if checksum != digest(content):
        raise ValueError(
            f"path {path} is damaged, or was changed by hand: its checksum is that of other content"
        )
    return content
