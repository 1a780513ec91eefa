"""Offers each chapter as an executed notebook that reads as the chapter does, in plain Jupyter.

MyST's roles and boxes become plain Markdown: computed numbers are filled in, theorems and notes are
quotations, and references name what they refer to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from footer import run_time
from look import Context
from provenance import repository
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.execution import executed_notebook, page_keys
from lib.checks import choice

FENCE = re.compile(r"^(`{3,}|:{3,})\{([\w:-]+)\}[ ]*(.*)\n((?:.*\n)*?)\1[ ]*$", re.M)
OPTION = re.compile(r"^:(\w+):.*\n", re.M)
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
TARGET = re.compile(r"^\([\w-]+\)=\n", re.M)
EQUATION = re.compile(r"^\$\$ \(([\w-]+)\)$", re.M)
QUOTED = {"margin": "Note", "admonition": "", "table": ""} | {
    f"prf:{kind}": kind.capitalize()
    for kind in ("theorem", "lemma", "corollary", "proposition", "observation")
}
OF_THE_SITE = ("moving", "verdicts")
UNNAMED = {"numref": "the figure", "prf:ref": "the theorem"}  # references without a text of their own


def glued_values(notebook: nbformat.NotebookNode) -> dict[str, object]:
    """The numbers and texts that the cells have pasted into the prose, by name."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    values: dict[str, object] = {}
    for output in outputs:
        if name := output.get("metadata", {}).get("scrapbook", {}).get("name"):
            text = next(iter(output["data"].values()))
            try:
                values[name] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                values[name] = text
    return values


def formatted(value: Any, form: str) -> str:
    """A number or text in a format of Python; a whole number may have come as a float."""
    return format(int(value) if form.endswith("d") and isinstance(value, float) else value, form)


def plain(source: str, values: Mapping[str, object], titles: Mapping[str, str]) -> str:
    """Return MyST as plain Markdown; ``titles`` are those of pages, by what a ``{doc}`` may call them.

    Raises ``ValueError`` for a number or a page that there is not, and for an unknown box.
    """

    def role(match: re.Match) -> str:
        name, content = match.groups()
        text, _, target = content.partition(" <")
        if name == "glue:text":
            variable, _, form = content.partition(":")
            return formatted(values[choice("number", variable, values)], form)
        if name == "doc":
            return f"*{text if target else titles[choice('page', content.rpartition('/')[2], titles)]}*"
        if name == "eq":
            return f"({content.removeprefix('eq-')})"
        if name in ("ref", *UNNAMED):
            return text if target else UNNAMED.get(name, content)
        if name == "math":
            return f"${content}$"
        return f"[{content}]" if name.startswith("cite") else f"`{content}`"

    def box(match: re.Match) -> str:
        fence, kind, title, body = match.groups()
        if kind == "code-block":
            return f"{fence}{title}\n{body}{fence}"
        if kind in OF_THE_SITE:
            return ""
        label = QUOTED[choice("box", kind, QUOTED)]
        head = f"**{label} ({title}).**" if label and title else f"**{title or label}.**"
        lines = [head, "", *OPTION.sub("", body).strip().splitlines()]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    text = FENCE.sub(box, TARGET.sub("", source))
    text = EQUATION.sub(lambda match: f"$$\n<!-- ({match[1].removeprefix('eq-')}) -->", text)
    return ROLE.sub(role, text)


def offered_notebook(env: BuildEnvironment, page: str) -> nbformat.NotebookNode:
    """The chapter as a notebook with its outputs, which says at its head what it needs."""
    notebook = executed_notebook(env, page)
    for name in ("source_map", "jupytext"):
        notebook.metadata.pop(name, None)
    values = glued_values(notebook)
    titles = {name.rpartition("/")[2]: title.astext() for name, title in env.titles.items()}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source + "\n", values, titles).strip()
    origin = (
        f"*Chapter `{page}` of Learning Dynamics, Executed, with the outputs of its last run, which took "
        f"{run_time(env, page)}.* *It needs the book's own code, and its ledger: to run it, open it in "
        f"a copy of {repository() or 'its repository'}; make lab installs what it needs.*"
    )
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(origin))
    return notebook


def offer(app: Sphinx, page: str, template: str, context: Context, doctree: nodes.document | None) -> None:
    if doctree is not None and page in page_keys(app.env):
        context["ipynb_source"] = f"{page}.ipynb"
        target = Path(app.outdir, "_sources", f"{page}.ipynb")
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(offered_notebook(app.env, page), target)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", offer, priority=400)
