"""Writes what stands beside the pages: all verdicts with full digits, and an address for every claim.

The page at the address, ``c/<claim>.html``, has the claim in words, its verdict and its numbers, which is
what one sends; the links on it lead to the cell that decides it and to wherever else the book speaks of it.
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

from executable_claims.cards import line_numbers
from executable_claims.layout import TEMPLATES
from executable_claims.ledger import Claim, Paper, read_ledger
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


def address_page(app: Sphinx, paper: Paper, claim: Claim) -> str:
    """The page at the address of a claim."""
    known = outcomes(app.env)
    verdict, record = known.verdict(claim), known.records.get(claim.id)
    return TEMPLATES.get_template("address.html").render(
        paper=paper,
        claim=claim,
        verdict=verdict,
        numbers=line_numbers(record) if record else [claim.reason],
        places={
            kind: f"{app.builder.get_target_uri(known.pages[name])}#{name}"
            for kind, name in known.anchors(claim).items()
        },
        book=app.config.html_title,
        sheets=["executable_claims.css", *(name for name, _ in app.config.html_css_files)],
        head=app.emit_firstresult("claim-head", claim, verdict),
    )


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write ``c/<claim>.html`` for all claims, and what is known of them, in full digits, to claims.json."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "c")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    known: list[dict] = []
    for paper in read_ledger():
        for claim in paper.claims:
            (folder / f"{claim.id}.html").write_text(address_page(app, paper, claim), encoding="utf-8")
            verdict = outcomes(app.env).verdict(claim)
            undecided = {"claim": asdict(claim), "verdict": verdict, "comparison": None}
            known.append(outcomes(app.env).records.get(claim.id, undecided))
    content = {
        "book": app.config.html_title,
        "commit": commit(Path(app.srcdir)),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "claims": sorted(known, key=lambda one: one["claim"]["id"]),
    }
    (folder.parent / "claims.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
