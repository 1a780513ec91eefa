"""Offers each chapter as an executed notebook that reads as the chapter does, in plain Jupyter.

MyST's roles and boxes become plain Markdown: computed numbers are filled in, theorems and notes are
quotations, and references name what they refer to.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
from docutils import nodes
from footer import run_time
from provenance import repository
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.run.execution import executed_notebook, page_keys

FENCE = re.compile(r"^(`{3,}|:{3,})\{([\w:-]+)\}[ ]*(.*)\n((?:.*\n)*?)\1[ ]*$", re.M)
OPTION = re.compile(r"^:(\w+):.*\n", re.M)
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
TARGET = re.compile(r"^\([\w-]+\)=\n", re.M)
EQUATION = re.compile(r"^\$\$ \(([\w-]+)\)$", re.M)
BOXES = {
    "prf:theorem": "Theorem",
    "prf:lemma": "Lemma",
    "prf:corollary": "Corollary",
    "prf:proposition": "Proposition",
    "prf:observation": "Observation",
    "margin": "Note",
    "admonition": "",
}
FIRST_CELL = """\
# This notebook needs the book's own code, and its ledger.
try:
    import lib
    from executable_claims.claims.configuration import find_book

    find_book()
except (ImportError, ValueError):
    raise SystemExit("{how}") from None"""


def glued_values(notebook: nbformat.NotebookNode) -> dict[str, object]:
    """The numbers and texts that the cells have pasted into the prose, by name."""
    values = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if name := output.get("metadata", {}).get("scrapbook", {}).get("name"):
                text = next(iter(output["data"].values()))
                try:
                    values[name] = ast.literal_eval(text)
                except (ValueError, SyntaxError):
                    values[name] = text
    return values


def formatted(value: object, form: str) -> str:
    """A number or text in a format of Python; a whole number may have come as a float."""
    return format(int(value) if form.endswith("d") and isinstance(value, float) else value, form)


def plain(source: str, values: dict[str, object], titles: dict[str, str]) -> str:
    """Return MyST as plain Markdown; ``titles`` are those of pages, by what a ``{doc}`` may call them."""

    def role(found: re.Match) -> str:
        name, content = found.groups()
        text, _, target = content.partition(" <")
        if name == "glue:text":
            variable, _, form = content.partition(":")
            return formatted(values[variable], form) if variable in values else content
        if name == "doc":
            return f"*{text if target else titles.get(content.rpartition('/')[2], content)}*"
        if name == "eq":
            return f"({content.removeprefix('eq-')})"
        if name in ("numref", "prf:ref", "ref"):
            return text if target else {"numref": "the figure", "prf:ref": "the theorem"}.get(name, content)
        if name == "math":
            return f"${content}$"
        return f"[{content}]" if name.startswith("cite") else f"`{content}`"

    def box(found: re.Match) -> str:
        _, kind, title, body = found.groups()
        label = BOXES.get(kind)
        if label is None:
            return ""
        head = f"**{label} ({title}).**" if label and title else f"**{title or label}.**"
        lines = [head, "", *OPTION.sub("", body).strip().splitlines()]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    text = FENCE.sub(box, TARGET.sub("", source))
    text = EQUATION.sub(lambda found: f"$$\n<!-- ({found[1].removeprefix('eq-')}) -->", text)
    return ROLE.sub(role, text)


def titles_of(env: BuildEnvironment) -> dict[str, str]:
    """The titles of all pages by the last part of their names."""
    return {name.rpartition("/")[2]: title.astext() for name, title in env.titles.items()}


def how_to_get(place: str) -> str:
    """One sentence that says how a reader gets the code that a notebook needs."""
    return f"open it in a copy of {place or 'its repository'}: make lab installs what it needs"


def offered_notebook(env: BuildEnvironment, docname: str) -> nbformat.NotebookNode:
    """The chapter as a notebook with its outputs, which says at its head what it needs."""
    notebook = executed_notebook(env, docname)
    for name in ("source_map", "jupytext"):
        notebook.metadata.pop(name, None)
    values, titles = glued_values(notebook), titles_of(env)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source + "\n", values, titles).strip()
    how = how_to_get(repository())
    origin = f"*Chapter `{docname}` of Learning Dynamics, Executed, with the outputs of its last run,"
    origin += f" which took {run_time(env, docname)}.* *To run it, {how}.*"
    notebook.cells[:0] = [
        nbformat.v4.new_markdown_cell(origin),
        nbformat.v4.new_code_cell(FIRST_CELL.format(how=how)),
    ]
    return notebook


def offer(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document) -> None:
    if doctree is not None and pagename in page_keys(app.env):
        context["ipynb_source"] = f"{pagename}.ipynb"
        target = Path(app.outdir, "_sources", f"{pagename}.ipynb")
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(offered_notebook(app.env, pagename), target)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", offer, priority=400)
