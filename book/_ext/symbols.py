"""Tells which formulas are symbols of the page of notation, so that they can show their meaning.

One letter may mean different things in different chapters.  So a formula is a symbol only on the pages below,
where all its uses have been read, and only in the text of the book itself: margin notes, cards and tables
quote the papers, which have a notation of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from claim_cards import details
from docutils import nodes
from plain_text import plain
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

NOTATION = "book/notation"
SYMBOL = re.compile(r'class="(symbol-[\w-]+) math ')
QUOTES = (details, nodes.sidebar, nodes.table, nodes.title, nodes.reference)
COMMON = ("networks-and-data", "training")
SECTIONS = {
    "sigmoidal_curves": "single-neuron-combes2018",
    "saddle_to_saddle": "saddle-to-saddle-boursier2022",
    "early_alignment": "early-alignment-min2024",
    "neuron_clustering": "clustering-sarussi2021",
    "gradient_starvation": "starvation-pezeshki2021",
}
# The pages whose names begin so -> the symbols that have the meaning of the tables at every place there.
MEANT = {
    "sigmoidal_curves/": r"a h F F(u) \eta",
    "sigmoidal_curves/closed_form": "p u P",
    "sigmoidal_curves/finite_steps": "p u P T",
    "sigmoidal_curves/hinge": "p u P T",
    "sigmoidal_curves/sigmoid_or_not": "c u P",
    "sigmoidal_curves/speeds": "p u",
    "sigmoidal_curves/small_starts": "p",
    "sigmoidal_curves/frequent_first": "p_k",
    "sigmoidal_curves/many_classes": "p_k",
    "saddle_to_saddle/": r"""x_i w_j a_j v_j \rho_j \lambda \eta y_\pm y_+ y_- D_\pm D_+ D_- S_+ S_-
        u_\pm u_+ u_- \tau_\pm \tau_+ \tau_- \omega_j \kappa_j""",
    "early_alignment/": r"""x_i z_i w_j a_j \lambda \mu x_+ x_- S_+ S_- t_1 t_2 X_{\min} X_{\max} K
        \kappa \zeta_2 \xi""",
    "neuron_clustering/": r"x_i w_j u_j \bar{w} \bar{u} q_i \lambda \Theta",
    "neuron_clustering/agreement_regimes": r"\hat\Theta",
    "neuron_clustering/clusters_and_the_boundary": "r C",
    "neuron_clustering/digits": "r C",
    "neuron_clustering/left_after_training": r"\hat\Theta",
    "neuron_clustering/scale_of_the_start": r"\hat\Theta",
    "neuron_clustering/sgd_reaches_any_loss": r"\hat\Theta",
    "neuron_clustering/which_line": r"\hat\Theta",
    "gradient_starvation/": r"\Phi s_j p_i \nu \kappa",
}


@dataclass(frozen=True)
class Row:
    """A row of the tables of notation: its section and anchor, the forms it explains, what it says."""

    section: str
    anchor: str
    forms: frozenset[str]
    name: str
    meaning: str


def form(tex: str) -> str:
    """A formula without what does not show."""
    return re.sub(r"[{}\s]", "", tex)


def forms(tex: str) -> Iterator[str]:
    """The symbols that a formula of the first column explains: what stands before =, ∈ and ≤."""
    for part in tex.split(","):
        symbol = form(re.split(r"=|\\in(?![a-z])|\\le(?![a-z])", part)[0])
        yield from (symbol, symbol.replace(r"_\pm", "_+"), symbol.replace(r"_\pm", "_-"))
        yield re.sub(r"\([uxz]\)$", "", symbol)


def table_rows(notation: nodes.document) -> Iterator[tuple[str, nodes.row]]:
    """The rows of the tables of notation with the names of their sections."""
    for section in notation.findall(nodes.section):
        for table in (child for child in section if isinstance(child, nodes.table)):
            yield from ((section["ids"][0], row) for row in next(table.findall(nodes.tbody)))


def name_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give the rows of the tables of notation anchors."""
    if app.env.docname == NOTATION:
        for number, (section, row) in enumerate(table_rows(doctree), 1):
            row["ids"].append(f"symbol-{section}-{number}")


def text(cell: nodes.Element) -> str:
    """The text of a cell with its formulas as characters."""
    parts = (
        f"${part}$" if isinstance(part.parent, nodes.math) else part for part in cell.findall(nodes.Text)
    )
    return plain("".join(parts))


def rows(env: BuildEnvironment) -> list[Row]:
    """All rows of the tables of notation."""
    found = []
    for section, row in table_rows(env.get_doctree(NOTATION)):
        ours, meaning, theirs = map(text, row)
        symbols = frozenset(symbol for math in row[0].findall(nodes.math) for symbol in forms(math.astext()))
        said = f"{meaning}; in the paper: {theirs}" if theirs else meaning
        found.append(Row(section, row["ids"][0], symbols, ours, said))
    return found


def meanings(page: str, all_rows: list[Row]) -> dict[str, str]:
    """The symbols of a page -> the anchors of their rows; a part's own table comes before the common ones.

    Raises ``ExtensionError`` for a symbol that no table has.
    """
    part = page.partition("/")[0]
    found = {}
    for beginning, symbols in MEANT.items():
        for symbol in map(form, symbols.split() if page.startswith(beginning) else ()):
            sections = (SECTIONS[part], *COMMON)
            anchors = [
                row.anchor
                for place in sections
                for row in all_rows
                if row.section == place and symbol in row.forms
            ]
            if not anchors:
                raise ExtensionError(f"{symbol!r} of {page} is in no table of {NOTATION}")
            found[symbol] = anchors[0]
    return found


def in_a_quote(formula: nodes.Node) -> bool:
    while formula := formula.parent:
        if isinstance(formula, QUOTES):
            return True
    return False


class MarkSymbols(SphinxPostTransform):
    default_priority = 710

    def run(self, **options) -> None:
        page = self.env.docname.removeprefix("book/")
        if page.partition("/")[0] not in SECTIONS:
            return
        anchors = meanings(page, rows(self.env))
        for formula in self.document.findall(nodes.math):
            if (anchor := anchors.get(form(formula.astext()))) and not in_a_quote(formula):
                formula["classes"].append(anchor)


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", name_rows)
    app.add_post_transform(MarkSymbols)
    return {"version": "1", "parallel_read_safe": True}
