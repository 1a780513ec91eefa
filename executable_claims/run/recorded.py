"""What is recorded of a book's pages: by claim what its check said and measured, on which kernels.

Of checked cells that decide no claim it is the text that they print, in the order of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from executable_claims.claims.configuration import Book, read_json
from executable_claims.run.chapters import verdicts
from executable_claims.run.drift import values

NOTHING: dict[str, Any] = {"kernels": {}, "claims": {}, "printed": []}


def record_path(book: Book, page: Path) -> Path:
    """Where the record of a page lies."""
    return book.folder("recorded") / page.relative_to(book.folder("pages")).with_suffix(".json")


def read_record(path: Path) -> dict[str, Any]:
    """Return what is recorded in a file: ``kernels``, ``claims`` by their ids, and texts ``printed``."""
    return NOTHING | read_json(path) if path.exists() else NOTHING


def recorded_claims(book: Book) -> dict[str, dict]:
    """Return what is recorded of the claims that the book decides, by their ids."""
    claims: dict[str, dict] = {}
    for path in sorted(book.folder("recorded").rglob("*.json")):
        claims |= read_record(path)["claims"]
    return claims


def claims_of(outputs: Iterable[dict]) -> dict[str, dict]:
    """Return by claim what is recorded of the outputs of a cell: lines of text, and numbers."""
    entries = {}
    for output in outputs:
        records = verdicts([output])
        texts = re.split(r"\n(?! )", output["data"]["text/plain"]) if records else ()
        for record, text in zip(records, texts, strict=True):
            entries[record["claim"]["id"]] = {"text": text.splitlines(), **values(record)}
    return entries


def printed_by(outputs: Iterable[dict]) -> str:
    """Return the text that the outputs of a cell print or show."""
    texts = [
        output.get("text") if output.get("name") == "stdout" else output.get("data", {}).get("text/plain")
        for output in outputs
    ]
    return "\n".join(text.rstrip("\n") for text in texts if text)


def record_of(cells: Iterable[list[dict]]) -> dict[str, Any]:
    """Return what is recorded of a page whose checked cells have these outputs."""
    record: dict[str, Any] = {"kernels": {}, "claims": {}, "printed": []}
    for outputs in cells:
        for verdict in verdicts(outputs):
            record["kernels"] |= verdict["kernels"]
        record["claims"] |= claims_of(outputs)
        record["printed"] += [] if verdicts(outputs) else [printed_by(outputs)]
    return record


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write what is recorded of a page; nothing for a page that checks nothing."""
    if record["claims"] or record["printed"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
