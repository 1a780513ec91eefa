"""Says where a build comes from and where it goes, and how what stands on record is made anew.

The environment variables ``BOOK_REPOSITORY`` and ``BOOK_ADDRESS`` name the repository and the site's own
address, ``BOOK_CONTACT`` an address for reports where there is no repository; what is missing no page names.
"""

from __future__ import annotations

import ast
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from urllib.parse import quote, urlencode

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from executable_claims import addresses
from executable_claims.chapters import code_cells
from executable_claims.dependencies import code_digest
from executable_claims.ledger import Claim
from experiments.records import RECORDS, command
from experiments.registry import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
READERS = ("recorded", "verify_recorded")  # of records
ARCHIVE = "learning-dynamics-executed.zip"  # as make zip calls it; it is published beside the pages
LICENCE = "Text CC BY 4.0, code BSD-3-Clause"
SHOWN_VERSIONS = (
    *("jupyter-book", "sphinx", "numpy", "scipy", "torch", "matplotlib"),
    *("cvxpy", "clarabel", "sympy"),
)


def web_address(variable: str) -> str:
    """The address that an environment variable names, without a slash at its end; empty if it is not set.

    Raises ``ExtensionError`` for what is no address of the web.
    """
    address = os.environ.get(variable, "")
    if address and not address.startswith(("http://", "https://")):
        raise ExtensionError(f"{variable} is {address!r}, allowed: an address with http:// or https://")
    return address.rstrip("/")


def repository() -> str:
    """Where the book is kept, if that is known."""
    return web_address("BOOK_REPOSITORY")


def report_address(title: str, body: str) -> str:
    """The address of a form at the repository that reports an error, already filled in."""
    return f"{repository()}/issues/new?{urlencode({'title': title, 'body': body})}"


def commit() -> str:
    """The commit the site was built from."""
    return addresses.commit(ROOT)


def report_claim(app: Sphinx, docname: str, claim: Claim) -> str:
    """Where an error is reported, claim and commit filled in: a form, an address, else a text to copy."""
    body = f"Claim: {claim.id}\nCommit: {commit()}\n\nWhat is wrong, and a cell that shows it:\n"
    if repository():
        return report_address(f"{claim.id}: ", body)
    if contact := os.environ.get("BOOK_CONTACT"):
        return f"mailto:{contact}?{urlencode({'subject': claim.id, 'body': body}, quote_via=quote)}"
    return f"{'../' * docname.count('/')}c/{claim.id}.html#report"


def commands(app: Sphinx, docname: str, claim: Claim) -> list[str]:
    """How a reader runs the chapter that decides a claim, in an environment that builds no book."""
    if not docname:
        return []
    return [
        "python3 -m venv .venv",
        ".venv/bin/pip install -c constraints.txt -e ./executable_claims -e . pytest-timeout",
        f".venv/bin/python -m pytest {app.env.doc2path(docname, base=False)}",
    ]


def records(app: Sphinx, docname: str, claim: Claim) -> tuple[str, ...]:
    """The commands that make anew what a claim rests on that is on record."""
    return commands_by_claim(Path(app.env.doc2path(docname))).get(claim.id, ())


def calls_in(node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls of functions whose names begin so."""
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
    return [call for call in calls if getattr(call.func, "id", "").startswith(names)]


def pairs_of(statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a statement binds, and what to, one by one where it says so."""
    value = getattr(statement, "value", None)
    for target in getattr(statement, "targets", [statement]):
        parts, values = getattr(target, "elts", [target]), getattr(value, "elts", [])
        yield from zip(
            parts, values if len(parts) == len(values) else [value or statement] * len(parts), strict=True
        )


@cache
def commands_by_claim(page: Path) -> dict[str, tuple[str, ...]]:
    """The commands for the records that each claim of a page rests on, through any number of names."""
    texts: dict[str, str] = {}
    behind: dict[str, set[str]] = {}  # of each name, the commands for what it was computed from
    found: dict[str, set[str]] = {}

    def said(call: ast.Call) -> list[str | None]:
        """The texts among the arguments, also those that a name stands for; ``None`` for what is no text."""
        return [getattr(one, "value", None) or texts.get(getattr(one, "id", "")) for one in call.args]

    def rests_on(node: ast.AST) -> set[str]:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        records = set().union(*(behind.get(name, set()) for name in names))
        for call in calls_in(node, *READERS):
            for name, variant in zip(said(call), [*said(call)[1:], "full"], strict=True):
                if name in EXPERIMENTS:
                    known = {path.stem for path in (RECORDS / name).glob("*.json")}
                    records |= {command(name, one) for one in known & {variant} or known}
        return records

    for statement in ast.parse("\n".join(cell.source for cell in code_cells(page))).body:
        for call in calls_in(statement, "verify"):
            if call.args and isinstance(claim := said(call)[0], str):
                found.setdefault(claim, set()).update(rests_on(call))
        if isinstance(statement, ast.FunctionDef):
            behind[statement.name] = rests_on(statement)
            continue
        for target, value in pairs_of(statement):
            records = rests_on(value)
            stored = (one for one in ast.walk(target) if isinstance(getattr(one, "ctx", None), ast.Store))
            behind |= {one.id: records for one in stored if isinstance(one, ast.Name)}
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                texts[target.id] = value.value
    return {claim: tuple(sorted(commands)) for claim, commands in found.items()}


@cache
def now() -> datetime:
    """The time at which this build asked first."""
    return datetime.now(UTC)


@cache
def citation() -> dict:
    """What ``CITATION.cff`` says of the book."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def configure(app: Sphinx, config: Config) -> None:
    if address := web_address("BOOK_ADDRESS"):
        config.html_baseurl = f"{address}/"
    if repository():
        config.html_theme_options |= {
            "repository_url": repository(),
            "repository_branch": os.environ.get("BOOK_BRANCH", "main"),
            "path_to_docs": "",
            "use_repository_button": True,
            "use_issues_button": True,
            "use_edit_page_button": True,
            "launch_buttons": {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org"},
        }


class BuildInformation(SphinxDirective):
    """``{build-information}``: commit, date and versions of this build."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        rows = [
            ("Commit", commit()),
            ("Built", f"{now():%Y-%m-%d %H:%M UTC}"),
            ("Python", platform.python_version()),
            ("Machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
            ("Code of lib", code_digest(ROOT / "lib")),
            *((name, metadata.version(name)) for name in SHOWN_VERSIONS),
        ]
        return self.parse_text_to_nodes("\n".join(f":{name}: {value}" for name, value in rows))


class Repository(SphinxDirective):
    """``{repository}``: where the book and its site are kept, and of which commit this build is."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        place, address = repository(), web_address("BOOK_ADDRESS")
        known = f"The book is kept at <{place}>, where a report of an error is an issue"
        text = known if place else "This build names no repository: the place where you found it has it"
        text += f"; it was built from the commit `{commit()}`."
        if address:
            text += f" You can have the whole site [as one file]({address}/{ARCHIVE}), for the disk."
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> None:
    app.add_directive("build-information", BuildInformation)
    app.add_directive("repository", Repository)
    app.connect("config-inited", configure, priority=900)
    app.connect("claim-report", report_claim)
    app.connect("claim-commands", commands)
    app.connect("claim-records", records)
