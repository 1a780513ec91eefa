"""Shows the verdict that a cell has found as a card below it: a line that opens."""

from __future__ import annotations

import numpy as np
from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from myst_parser.mdit_to_docutils.sphinx_ import SphinxRenderer
from sphinx.application import Sphinx

from executable_claims.claims.clauses import phrases
from executable_claims.claims.comparison import named, targets_of
from executable_claims.claims.verdict import MIME
from executable_claims.site.layout import details, lay_out

SHOW_SOURCE = "tag_show-source"  # on a cell whose source stays visible although it shows a verdict


def target(comparison: dict) -> str:
    """What was measured is compared with this, the lower bound first."""
    return named(dict(sorted(targets_of(comparison).items())), 6)


def described(comparison: dict) -> str:
    worst = f" (worst of {comparison['size']})" if comparison["size"] > 1 else ""
    off = f"; off by {comparison['error']:.2g}, allowed {comparison['tolerance']:.2g}"
    return f"{comparison['measured']:.6g}{worst}; {target(comparison)}{off if comparison['error'] else ''}"


def failing(comparison: dict) -> str:
    """In how many entries a control fails."""
    some = f" in {comparison['failing']} of {comparison['size']}"
    return f"fails{some if comparison['size'] > 1 else ''}"


def refused(varied: dict) -> str:
    """What a control or a printed form says, and that it fails."""
    comparison, how = varied["comparison"], ", as it must"
    if comparison["size"] > 1:
        part = comparison["failing"] / comparison["size"]
        how = f" entries: {100 * part:.3g} %, and {100 * varied['share']:.3g} % must"
    return f"{varied['what']}: {described(comparison)}. It {failing(comparison)}{how}{away(varied)}."


def away(varied: dict) -> str:
    """By how many tolerances a control misses, and whether anybody could have believed it."""
    if not varied["believable"]:
        return "; it misses by a hundred times what is measured, so nobody would have believed it"
    return "" if varied["distance"] is None else f"; {varied['distance']:.2g} tolerances away"


def refusals(record: dict) -> list[tuple[str, dict]]:
    """All that a check refused, each with what it is."""
    controls = [("Control", control) for control in (record["control"], *record["more_controls"])]
    named = [*controls, ("Impostor", record["impostor"]), ("Printed form", record["printed"])]
    return [(name, varied) for name, varied in named if varied]


def allowed(record: dict) -> str:
    """The tolerance, and why it is that."""
    given = {"relative": record["rtol"], "absolute": record["atol"]}
    shown = " + ".join(f"{value:.2g} {name}" for name, value in given.items() if value)
    if record["least_atol"] < record["atol"]:
        shown += f" (by row, from {record['least_atol']:.2g} on)"
    return f"{shown or 'none'}: {record['because']}"


def parts(record: dict) -> list[dict]:
    """What was compared, clause by clause."""
    return [record, *record["others"]]


def coarseness(record: dict) -> float:
    """How wrong a theory goes unnoticed."""
    return np.inf if record["resolution"] is None else record["resolution"]


def line_numbers(record: dict) -> list[str]:
    """What a card shows without being opened: measured, predicted, and that the control fails."""
    if record["others"]:
        clauses = parts(record)
        coarsest = max(clauses, key=coarseness)
        return [f"{len(clauses)} clauses, each with a control that fails", coarsest["notices"]]
    comparison = record["comparison"]
    within = f" ± {comparison['tolerance']:.2g}" if comparison["tolerance"] else ""
    return [
        f"measured {comparison['measured']:.6g}",
        f"{target(comparison)}{within}",
        record["notices"],
        f"control {failing(record['control']['comparison'])}",
    ]


class ClaimRenderer:
    """Renders a verdict of a notebook as a card, several as a table of cards (an entry point of myst-nb)."""

    mime_priority_overrides = (("*", MIME, 1),)

    @staticmethod
    def handle_mime(renderer: NbElementRenderer, data: MimeData, inline: bool) -> list[nodes.Node] | None:
        if inline or data.mime_type != MIME:
            return None
        cards = [card(renderer.renderer, record, data.line or 0) for record in data.content]
        return cards if len(cards) == 1 else [nodes.container("", *cards, classes=["claim-table"])]


def card(markdown: SphinxRenderer, record: dict, line: int) -> details:
    """The card of a verdict, which it carries until the page is noted (see ``outcomes``)."""

    def parse(text: str) -> list[nodes.Node]:
        paragraph = nodes.paragraph()
        with markdown.current_node_context(paragraph):
            markdown.nested_render_text(text, line, inline=True)
        return paragraph.children

    [made] = lay_out(
        "card.xml",
        parse,
        page=markdown.sphinx_env.docname,
        record=record,
        numbers=line_numbers(record),
        words={each.__name__: each for each in (allowed, described, parts, phrases, refusals, refused)},
    )
    made["record"] = record
    return made


def fold_checks(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the source of the cells that show a verdict: the card is the text."""
    for cell in doctree.findall(nodes.container):
        shows = cell.get("nb_element") == "cell_code" and next(cell.findall(details), None)
        if shows and "hide_mode" not in cell and SHOW_SOURCE not in cell["classes"]:
            cell["hide_mode"] = "input"
            cell["prompt_show"] = app.config.nb_code_prompt_show
            cell["prompt_hide"] = app.config.nb_code_prompt_hide
