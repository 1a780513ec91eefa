"""The Sphinx extension: cards, pages of the ledger, addresses of claims, and execution on all cores."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from executable_claims.claims.configuration import START, find_book
from executable_claims.claims.ledger import read_ledger
from executable_claims.run import execution
from executable_claims.run.dependencies import code_of, digest, follow, piece
from executable_claims.site import addresses, cards, layout, outcomes, pages

ENGINE = Path(__file__).parents[1]
DIRECTIVES = {
    "scoreboard": pages.Scoreboard,
    "scorecard": pages.Scorecard,
    **dict.fromkeys(pages.NOTES, pages.Notes),
    "verdicts": pages.Verdicts,
}
# So many objects are made before garbage is looked for among all trees of nodes and code, which stay.
ALLOCATIONS = 200_000
EVENTS = tuple(
    f"claim-{name}" for name in ("report", "picture", "drawing", "records", "commands", "head", "page")
)
HANDLERS = (  # those of one event do their part in this order
    ("env-get-outdated", execution.find_changes),
    ("env-get-outdated", outcomes.pages_of_other_files),
    ("env-before-read-docs", outcomes.warn),
    ("env-before-read-docs", execution.execute_pages),
    ("source-read", execution.choose_cache),
    ("env-purge-doc", outcomes.forget_page),
    ("doctree-read", outcomes.note_page),
    ("doctree-read", cards.fold_checks),
    ("env-updated", outcomes.pages_to_rewrite),
    ("build-finished", addresses.write),
)


def begin(app: Sphinx, config: Config) -> None:
    """Let the site have the engine's style sheet beside its own; refuse a ledger with mistakes.

    What a cell writes on its standard error, as it may with other versions, fails the build where CI is set.
    """
    if not os.environ.get("CI"):
        config.suppress_warnings = [*config.suppress_warnings, "mystnb.stderr"]
    try:
        read_ledger()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if (mode := getattr(config, "nb_execution_mode", "cache")) not in ("cache", "off"):
        how = "cache (execute_notebooks: cache in _config.yml), else chapters are executed twice"
        raise ConfigError(f"nb_execution_mode is {mode!r}, allowed: {how}")
    config.html_static_path = [str(Path(__file__).parent / "static"), *config.html_static_path]


def code_of_the_site(root: Path) -> str:
    """Return a digest of what makes the pages: the engine, the book's extensions, and what these reach."""
    book = find_book(root)
    own = [root / folder for folder in book.modules if folder != "."]
    folders = [*(ENGINE / name for name in ("claims", "run", "site")), *own]
    files = [
        path
        for folder in folders
        for pattern in ("*.py", "templates/*")
        for path in sorted(folder.glob(pattern))
    ]
    code = piece([code_of(path.read_text(encoding="utf-8")) for each in own for path in each.glob("*.py")])
    return digest(repr([*(path.read_bytes() for path in files), follow(code, book, root, {}).digests]))


def setup(app: Sphinx) -> dict:
    """Register all parts.

    What only the book knows is asked by events: where an error is reported, the picture of a figure by its
    name, how the records that a claim rests on are made; and for a claim's own page the commands that run its
    cell, tags for its head, and how its figure is drawn and its formulas are set.
    """
    os.environ[START] = str(app.srcdir)
    gc.set_threshold(ALLOCATIONS)
    for event in EVENTS:
        app.add_event(event)
    for node in (layout.details, layout.summary):  # for other builders than HTML's they are containers
        app.add_node(node, html=(layout.visit_html, layout.depart_html))
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    for name in ("tally", "measured"):
        app.add_role(name, outcomes.Placeholder())
    app.add_post_transform(outcomes.FillPlaceholders)
    app.add_config_value("code_of_the_site", code_of_the_site(Path(app.srcdir)), "env")  # pages are read anew
    app.add_css_file("executable_claims.css")
    app.connect("config-inited", begin)
    for event, handler in HANDLERS:
        app.connect(event, handler)
    return {"version": "1", "env_version": 6, "parallel_read_safe": False}
