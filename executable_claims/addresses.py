"""Writes what stands beside the pages: all verdicts with full digits, and an address for every claim.

What the page at the address, ``c/<claim>.html``, says is in ``claim_page``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

from executable_claims.claim_page import claim_page
from executable_claims.ledger import read_ledger
from executable_claims.outcomes import outcomes


@cache
def commit(root: Path) -> str:
    """The commit a folder is at, and whether the tree differs from it."""
    describe = ["git", "describe", "--always", "--exclude=*", "--abbrev=12"]
    command = [*describe, "--dirty= with uncommitted changes"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown (not a git checkout)"


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write ``c/<claim>.html`` for all claims, and what is known of them, in full digits, to claims.json."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "c")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    known, now, listed = outcomes(app.env), commit(Path(app.srcdir)), []
    for paper in read_ledger():
        for claim in paper.claims:
            page = claim_page(app, known, paper, claim, now)
            (folder / f"{claim.id}.html").write_text(page, encoding="utf-8")
            undecided = {"claim": asdict(claim), "verdict": known.verdict(claim), "comparison": None}
            listed.append(known.records.get(claim.id, undecided))
    content = {
        "book": app.config.html_title,
        "commit": now,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "claims": sorted(listed, key=lambda one: one["claim"]["id"]),
    }
    (folder.parent / "claims.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
