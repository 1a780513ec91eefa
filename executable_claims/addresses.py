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
from html import escape
from pathlib import Path
from string import Template

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.cards import badge, erratum_of, ledger_pages, line_numbers, verdict_of, verdicts
from executable_claims.ledger import Claim, Paper, read_ledger

PAGE = Template("""<!DOCTYPE html>
<html lang="en" class="claim-address">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
$head
$sheets
<script>
const theme = document.documentElement.dataset;
theme.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
try {
  theme.theme = localStorage.getItem("theme") || theme.theme;
} catch {
  // a browser may forbid it
}
</script>
</head>
<body>
<main class="bd-article">
<p class="claim-place"><a href="../index.html">$book</a></p>
<h1>$words</h1>
<p>$badge</p>
<p class="claim-place">$place</p>
<ul>
$numbers
</ul>
<ul>
$links
</ul>
</main>
</body>
</html>
""")


@cache
def commit(root: Path) -> str:
    """The commit a folder is at, and whether the tree differs from it."""
    git = ["git", "-C", str(root)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changes = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown (not a git checkout)"
    return name.stdout.strip() + (" with uncommitted changes" if changes.stdout.strip() else "")


def links_of(app: Sphinx, claim: Claim) -> dict[str, str]:
    """Where else the book speaks of a claim: a name and an address from the site's root."""
    cell = verdicts(app.env).get(claim.id, {}).get("docname")
    anchors = {"The cell that decides it": (cell, f"claim-{claim.id}")}
    for name, anchor in (
        ("Among the claims of its paper, with its hypotheses", f"verdict-{claim.id}"),
        ("What is wrong as printed", f"erratum-{erratum_of(claim.id)}"),
        ("On the scorecard", f"scorecard-{claim.id}"),
    ):
        anchors[name] = (ledger_pages(app.env).get(anchor), anchor)
    return {
        name: f"{app.builder.get_target_uri(docname)}#{anchor}"
        for name, (docname, anchor) in anchors.items()
        if docname
    }


def address_page(app: Sphinx, paper: Paper, claim: Claim) -> str:
    """The page at the address of a claim."""
    verdict, entry = verdict_of(app.env, claim), verdicts(app.env).get(claim.id)
    numbers = line_numbers(entry["record"]) if entry else [claim.reason]
    links = [f'<li><a href="../{escape(uri)}">{name}</a></li>' for name, uri in links_of(app, claim).items()]
    place = f"{paper.authors}: {paper.title} ({paper.year}), {claim.about}"
    sheets = [
        f'<link rel="stylesheet" href="../_static/{name}">'
        for name in ("executable_claims.css", *(name for name, _ in app.config.html_css_files))
    ]
    return PAGE.substitute(
        title=escape(f"{claim.about}, {claim.paper}: {verdict}"),
        head=app.emit_firstresult("claim-head", claim, verdict)
        or f'<meta name="description" content="{escape(claim.in_words)}">',
        sheets="\n".join(sheets),
        book=escape(app.config.html_title),
        words=escape(claim.in_words),
        badge=f'<span class="{" ".join(badge(verdict)["classes"])}">{verdict}</span>',
        place=escape(f"Our own, beside {place}" if claim.ours else place),
        numbers="\n".join(f"<li>{escape(each)}</li>" for each in numbers),
        links="\n".join(links),
    )


def write_addresses(app: Sphinx, exception: Exception | None) -> None:
    """Write ``c/<claim>.html`` for all claims."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "c")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for paper in read_ledger():
        for claim in paper.claims:
            (folder / f"{claim.id}.html").write_text(address_page(app, paper, claim), encoding="utf-8")


def record(env: BuildEnvironment, claim: Claim) -> dict:
    """What is known of a claim: the record of its verdict, or what the ledger has, compared with nothing."""
    if entry := verdicts(env).get(claim.id):
        return entry["record"]
    return {"claim": asdict(claim), "verdict": verdict_of(env, claim), "comparison": None}


def write_records(app: Sphinx, exception: Exception | None) -> None:
    """Write all claims, those that are decided with full digits, to claims.json beside the pages."""
    if exception is None and app.builder.format == "html":
        claims = sorted((claim for paper in read_ledger() for claim in paper.claims), key=lambda one: one.id)
        content = {
            "book": app.config.html_title,
            "commit": commit(Path(app.srcdir)),
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "claims": [record(app.env, claim) for claim in claims],
        }
        Path(app.outdir, "claims.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what is written; ``claim-head`` asks for tags in the head of a claim's page."""
    app.add_event("claim-head")
    app.connect("build-finished", write_addresses)
    app.connect("build-finished", write_records)
