"""Says where a build comes from and where it goes.

The environment variables ``BOOK_REPOSITORY`` and ``BOOK_ADDRESS`` name the repository and the site's own
address, ``BOOK_CONTACT`` an address for reports where there is no repository; what is missing no page names.
"""

from __future__ import annotations

import ast
import os
import platform
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

from executable_claims.claims.ledger import Claim
from executable_claims.run.dependencies import code_of, digest
from executable_claims.site import addresses
from experiments.evidence import records_behind

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE, PRINTED = (f"learning-dynamics-executed.{kind}" for kind in ("zip", "pdf"))  # published beside pages
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
        ".venv/bin/pip install -c constraints.txt -e './executable_claims[book]' -e . pytest-timeout",
        f".venv/bin/python -m pytest {app.env.doc2path(docname, base=False)}",
    ]


def records(app: Sphinx, docname: str, claim: Claim) -> tuple[str, ...]:
    """The commands that make anew what a claim rests on that is on record."""
    return records_behind(Path(app.env.doc2path(docname))).get(claim.id, ())


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


def code_digest(folder: Path) -> str:
    """Return a digest of the Python code in a folder, comments and docstrings aside."""
    modules = {path: code_of(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}
    code = (f"{path.relative_to(folder)} {ast.dump(tree)}\n" for path, tree in modules.items())
    return digest("".join(code))[:16]


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
            text += f" You can have the whole site [as one file]({address}/{ARCHIVE}), for the disk, "
            text += f"and [as a PDF]({address}/{PRINTED}), for paper."
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> None:
    app.add_directive("build-information", BuildInformation)
    app.add_directive("repository", Repository)
    app.connect("config-inited", configure, priority=900)
    app.connect("claim-report", report_claim)
    app.connect("claim-commands", commands)
    app.connect("claim-records", records)
