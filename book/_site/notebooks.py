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
from portable import installing_cell
from provenance import repository
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.run.execution import executed_notebook, page_keys
from lib.checks import choice

FENCE = re.compile(r"^(`{3,}|:{3,})\{([\w:-]+)\}[ ]*(.*)\n((?:.*\n)*?)\1[ ]*$", re.M)
OPTION = re.compile(r"^:(\w+):(.*)\n", re.M)
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
TARGET = re.compile(r"^\([\w-]+\)=\n", re.M)
EQUATION = re.compile(r"\$\$ \(([\w-]+)\)$", re.M)
OF_A_LIVE_FIGURE = re.compile(r"\[([^\]]+)\]\(\?[^)]*\)")
QUOTED = {"margin": "Note", "admonition": "", "table": ""} | {
    f"prf:{kind}": kind.capitalize()
    for kind in ("theorem", "lemma", "corollary", "proposition", "observation")
}
OF_THE_SITE = ("moving", "verdicts")
UNNAMED = {"numref": "the figure", "prf:ref": "the theorem"}  # references whose number is not known


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


def numbers_of(env: BuildEnvironment) -> dict[str, str]:
    """What the pages call figures, theorems and equations, by their labels: their kind and number."""
    counted: dict[str, str] = {}
    for kinds in env.toc_fignumbers.values():
        for kind, named in kinds.items():
            form = "({})" if kind == "displaymath" else f"{kind.capitalize()} {{}}"
            for label, number in named.items():
                counted[label.removeprefix("equation-")] = form.format(".".join(map(str, number)))
    return counted


def names_of(env: BuildEnvironment) -> dict[str, str]:
    """The works of the bibliography as prose calls them, by their keys: names and year."""
    called: dict[str, str] = {}
    for work in env.domaindata["cite"]["citations"]:
        names = [" ".join(map(str, person.rich_last_names)) for person in work.entry.persons["author"]]
        first = [", ".join(names[:-1])] if len(names) > 1 else []
        who = " and ".join([*first, names[-1]]) if len(names) < 4 else f"{names[0]} and others"
        called[work.key] = f"{who} ({work.entry.fields.get('year', 'no year')})"
    return called


def plain(
    source: str,
    values: Mapping[str, object],
    titles: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    works: Mapping[str, str] | None = None,
) -> str:
    """Return MyST as plain Markdown; ``titles`` are those of pages, by what a ``{doc}`` may call them.

    ``labels`` are numbers and ``works`` names and years, by what references and citations call them; those
    that are not known are called by their kind, or by their key.

    Raises ``ValueError`` for a number or a page that there is not, and for an unknown box.
    """

    labelled, called = labels or {}, works or {}

    def equation(match: re.Match) -> str:
        number = labelled.get(match[1], f"({match[1].removeprefix('eq-')})")
        return f"\\tag{{{number.strip('()')}}}$$"

    def role(match: re.Match) -> str:
        name, content = match.groups()
        text, _, target = content.partition(" <")
        if name == "glue:text":
            variable, _, form = content.partition(":")
            return formatted(values[choice("number", variable, values)], form)
        if name == "doc":
            return f"*{text if target else titles[choice('page', content.rpartition('/')[2], titles)]}*"
        if name == "eq":
            return labelled.get(content, f"({content.removeprefix('eq-')})")
        if name in ("ref", *UNNAMED):
            return text if target else labelled.get(content, UNNAMED.get(name, content))
        if name == "math":
            return f"${content}$"
        if name.startswith("cite"):
            return ", ".join(called.get(key.strip(), f"[{key.strip()}]") for key in content.split(","))
        return f"`{content}`"

    def box(match: re.Match) -> str:
        fence, kind, title, body = match.groups()
        if kind == "code-block":
            return f"{fence}{title}\n{body}{fence}"
        if kind in OF_THE_SITE:
            return ""
        called_so = next((value for name, value in OPTION.findall(body) if name == "label"), "")
        label = labelled.get(called_so.strip(), QUOTED[choice("box", kind, QUOTED)])
        head = f"**{label} ({title}).**" if label and title else f"**{title or label}.**"
        lines = [head, "", *OPTION.sub("", body).strip().splitlines()]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    text = FENCE.sub(box, TARGET.sub("", source))
    text = OF_A_LIVE_FIGURE.sub(r"\1", EQUATION.sub(equation, text))
    return ROLE.sub(role, text)


def offered_notebook(env: BuildEnvironment, page: str) -> nbformat.NotebookNode:
    """The chapter as a notebook with its outputs, which says at its head what it needs."""
    notebook = executed_notebook(env, page)
    for name in ("source_map", "jupytext"):
        notebook.metadata.pop(name, None)
    values = glued_values(notebook)
    titles = {name.rpartition("/")[2]: title.astext() for name, title in env.titles.items()}
    labels, works = numbers_of(env), names_of(env)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source + "\n", values, titles, labels, works).strip()
    lasted = f"with the outputs of its last run, which took {run_time(env, page)}"
    origin = f"*Chapter `{page}` of Learning Dynamics, Executed, {lasted}.* "
    if page.count("/") > 1:  # a chapter of a part
        how = (
            "*The next cell installs the book's code, and what the chapter needs, where they are not there.*"
        )
        notebook.cells.insert(0, nbformat.v4.new_code_cell(installing_cell(env, page)))
    else:
        how = (
            "*It tells of the whole book: to run it, open it in a copy of "
            f"{repository() or 'its repository'}; make lab installs what it needs.*"
        )
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(origin + how))
    return notebook


def offer(app: Sphinx, page: str, template: str, context: Context, doctree: nodes.document | None) -> None:
    if doctree is not None and page in page_keys(app.env):
        context["ipynb_source"] = f"{page}.ipynb"
        target = Path(app.outdir, "_sources", f"{page}.ipynb")
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(offered_notebook(app.env, page), target)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", offer, priority=400)
