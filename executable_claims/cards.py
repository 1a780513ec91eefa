"""Shows verdicts on the site: cards in the chapters, and what is known of a claim on other pages.

A verdict reaches the site only as the output of an executed cell.  The renderer below turns that output into
a card and notes it in the Sphinx environment; every other page asks the environment, so that none can show a
verdict that no cell produced.  *Not here* comes from the ledger, with its reason, *not yet* from
nowhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from executable_claims.comparison import notices
from executable_claims.ledger import NOT_HERE, Claim, find_claim, read_ledger
from executable_claims.verify import MIME

LOGGER = logging.getLogger(__name__)
NOT_YET = "not yet"
OURS = "ours"
IN_TABLE = re.compile(r'<span data-claim="([\w.-]+)">[^<]*</span>')  # in HTML that a page's cells have made
SHOW_SOURCE = "tag_show-source"  # on a cell whose source stays visible although it shows a verdict


def verdicts(env: BuildEnvironment) -> dict[str, dict]:
    """The verdicts that executed cells have produced: claim id -> {docname, record}."""
    if not hasattr(env, "claim_verdicts"):
        env.claim_verdicts = {}
    return env.claim_verdicts


def verdict_of(env: BuildEnvironment, claim: Claim) -> str:
    """What is known of a claim: the verdict of its cell, or that it has none, here or so far."""
    if entry := verdicts(env).get(claim.id):
        return entry["record"]["verdict"]
    return NOT_HERE if claim.expected == NOT_HERE else NOT_YET


def dependent_pages(env: BuildEnvironment) -> set[str]:
    """Pages that show verdicts of other pages and are written anew in every build."""
    if not hasattr(env, "claim_pages"):
        env.claim_pages = set()
    return env.claim_pages


# --- cards -------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    return f"{value:.6g}"


def target(comparison: dict) -> str:
    names = (("predicted", "predicted"), ("at_least", "at least"), ("at_most", "at most"))
    return ", ".join(
        f"{name} {number(comparison[key])}" for key, name in names if comparison[key] is not None
    )


def describe(comparison: dict) -> str:
    worst = f" (worst of {comparison['size']})" if comparison["size"] > 1 else ""
    off = (
        f"; off by {comparison['error']:.2g}, allowed {comparison['tolerance']:.2g}"
        if comparison["error"]
        else ""
    )
    return f"{number(comparison['measured'])}{worst}; {target(comparison)}{off}"


def failing(varied: dict) -> str:
    """In how many entries a control fails, and in how many it must."""
    comparison, share = varied["comparison"], varied["share"]
    if comparison["size"] == 1:
        return "fails, as it must"
    part = 100 * comparison["failing"] / comparison["size"]
    required = f", and {100 * share:.3g} % must" if share else ""
    return f"fails in {comparison['failing']} of {comparison['size']} entries: {part:.3g} %{required}"


def badge(verdict: str) -> nodes.inline:
    return nodes.inline("", verdict, classes=["verdict-badge", f"verdict-{verdict.replace(' ', '-')}"])


def line_numbers(record: dict) -> list[str]:
    """What a card shows without being opened: measured, predicted, and that the control fails."""
    comparison = record["comparison"]
    within = f" ± {comparison['tolerance']:.2g}" if comparison["tolerance"] else ""
    control = failing(record["control"]).split(" entries")[0].split(",")[0]
    return [
        f"measured {number(comparison['measured'])}",
        f"{target(comparison)}{within}",
        resolution_of(record),
        f"control {control}",
    ]


def resolution_of(record: dict) -> str:
    """How wrong a theory the check would have noticed, in words."""
    given = {name: record["comparison"][name] for name in ("predicted", "at_most", "at_least")}
    return notices(record["resolution"], {name: one for name, one in given.items() if one is not None})


def card_rows(record: dict) -> list[tuple[str, str]]:
    """The lines of an opened card: a name and a text in MyST."""
    claim = record["claim"]
    tolerance = " + ".join(
        f"{record[key]:.2g} {name}"
        for key, name in (("rtol", "relative"), ("atol", "absolute"))
        if record[key]
    )
    rows = [
        ("Claim", claim["corrected"] or claim["statement"]),
        ("As printed", claim["statement"] if claim["corrected"] else ""),
        ("Hypotheses", claim["hypotheses"]),
        ("Wrong", claim["wrong"]),
        ("Drawn", record["families"] or ""),
        ("Measured", describe(record["comparison"])),
        ("Tolerance", f"{tolerance or 'none'}: {record['because']}"),
        ("Resolution", resolution_of(record)),
    ]
    for name, varied in (("Control", record["control"]), ("Printed form", record["printed"])):
        if varied:
            found = f"{describe(varied['comparison'])}. It {failing(varied)}."
            rows.append((name, f"{varied['what']}: {found}"))
    rows.append(("Stand-in data", record["data"] or ""))
    return [(name, text) for name, text in rows if text]


class details(nodes.General, nodes.Element):
    """A line that opens: its first child is a `summary`."""


class summary(nodes.General, nodes.Element):
    """The line of a `details`."""


def visit_html(self, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, node.tagname))


def depart_html(self, node: nodes.Element) -> None:
    self.body.append(f"</{node.tagname}>\n")


def pass_through(self, node: nodes.Element) -> None:
    """Other builders show what is inside."""


class ClaimRenderer:
    """Renders a verdict of a notebook as a card, several as a table of cards (an entry point of myst-nb)."""

    mime_priority_overrides = (("*", MIME, 1),)

    @staticmethod
    def handle_mime(renderer, data, inline: bool) -> list[nodes.Element] | None:
        if inline or data.mime_type != MIME:
            return None
        content = json.loads(data.content) if isinstance(data.content, str) else data.content
        if isinstance(content, dict):
            return [ClaimRenderer.card(renderer.renderer, content, data.line)]
        cards = [ClaimRenderer.card(renderer.renderer, record, data.line) for record in content]
        return [nodes.container("", *cards, classes=["claim-table"])]

    @staticmethod
    def card(markdown, record: dict, line: int | None) -> details:
        env, claim = markdown.sphinx_env, record["claim"]
        earlier = verdicts(env).get(claim["id"])
        if earlier and (earlier["docname"] != env.docname or earlier["line"] != line):
            LOGGER.warning("claim %s is decided twice", claim["id"], location=(env.docname, line))
        verdicts(env)[claim["id"]] = {"docname": env.docname, "line": line, "record": record}

        def parsed(text: str) -> nodes.paragraph:
            paragraph = nodes.paragraph()
            with markdown.current_node_context(paragraph):
                markdown.nested_render_text(text, line or 0, inline=True)
            return paragraph

        numbers = (nodes.inline("", text) for text in line_numbers(record))
        head = summary("", badge(record["verdict"]))
        head += nodes.inline("", claim["in_words"], classes=["claim-statement"])
        head += nodes.inline("", "", *numbers, classes=["claim-numbers"])
        said = (claim["place"], claim["kind"], claim["shown"], OURS if claim["ours"] else "")
        about = parsed("; ".join(filter(None, said)))
        name = claim_reference(env.docname, claim["id"], nodes.Text(f"# {claim['id']}"))
        about.insert(0, [name, nodes.Text(" ")])
        about += [pending_pages(claim=claim["id"]), nodes.Text(" "), pending_report(claim=claim["id"])]
        rows = definitions([*((name, parsed(text)) for name, text in card_rows(record)), ("Entry", about)])
        kind = f"verdict-{record['verdict']}"
        return details("", head, rows, classes=["claim-card", kind], ids=[f"claim-{claim['id']}"])


def claim_reference(docname: str, claim_id: str, shown: nodes.Node) -> nodes.reference:
    """A link from a page to the address of a claim."""
    uri = f"{'../' * docname.count('/')}c/{claim_id}.html"
    return nodes.reference("", "", shown, internal=True, refuri=uri, classes=["claim-address"])


def definitions(rows: list[tuple[str, nodes.paragraph]]) -> nodes.definition_list:
    """A list of names, each with a paragraph."""
    listed = nodes.definition_list(classes=["claim-rows"])
    for name, text in rows:
        item = nodes.definition_list_item()
        item += [nodes.term("", name), nodes.definition("", text)]
        listed += item
    return listed


# --- placeholders, filled once every chapter has been read --------------------------------------------------


class pending_verdict(nodes.Inline, nodes.Element):
    """Placeholder for a claim's verdict, linked to the cell that decides it."""


class pending_pages(nodes.Inline, nodes.Element):
    """Placeholder for links to the claim on the scorecard, on its paper's page and on the errata page."""


class pending_report(nodes.Inline, nodes.Element):
    """Placeholder for a link to where one says that a verdict is wrong."""


class pending_resolution(nodes.Inline, nodes.Element):
    """Placeholder for how wrong a theory the check of a claim would have noticed."""


class pending_paper(nodes.Inline, nodes.Element):
    """Placeholder for a paper's title and key, linked to its page."""


class pending_text(nodes.Inline, nodes.Element):
    """Placeholder for a number taken from the verdicts."""


def tally(env: BuildEnvironment, key: str = "") -> Counter:
    """Count claims by verdict, plus 'claims' and 'decided' (by a cell): of a paper, of all, or our own.

    ``key`` is a paper's, empty for all papers, or ``OURS``; the book's own statements count for no paper.
    """
    claims = [
        claim
        for paper in read_ledger()
        for claim in paper.claims
        if bool(claim.ours) == (key == OURS) and key in ("", OURS, paper.key)
    ]
    counts = Counter(verdict_of(env, claim) for claim in claims)
    counts["claims"] = len(claims)
    counts["decided"] = len(claims) - counts[NOT_YET] - counts[NOT_HERE]
    return counts


def ledger_pages(env: BuildEnvironment) -> dict[str, str]:
    """Where a card can link to: the anchors of the scorecard and of the errata -> the page that has them."""
    if not hasattr(env, "claim_anchors"):
        env.claim_anchors = {}
    return env.claim_anchors


def erratum_of(claim_id: str) -> str:
    """The entry of the errata page that is about a claim; empty if there is none."""
    claim = find_claim(claim_id)
    paper = next(paper for paper in read_ledger() if paper.key == claim.paper)
    listed = [note.id for note in (*paper.errata, *paper.remarks) if claim_id in note.claims]
    return listed[0] if listed else claim_id if claim.wrong else ""


class FillPlaceholders(SphinxPostTransform):
    """Replaces the placeholders once every chapter has been read."""

    default_priority = 5

    def run(self, **options) -> None:
        for node in list(self.document.findall(pending_verdict)):
            node.replace_self(self.verdict_link(node["claim"]))
        for node in list(self.document.findall(pending_pages)):
            node.replace_self(self.page_links(node["claim"]))
        for node in list(self.document.findall(pending_report)):
            node.replace_self(self.report_link(node["claim"]))
        for node in list(self.document.findall(pending_resolution)):
            node.replace_self(nodes.Text(self.resolution(node["claim"])))
        for node in self.document.findall(nodes.raw):
            if "data-claim=" in node.astext():
                filled = IN_TABLE.sub(lambda place: self.badge_html(place[1]), node.astext())
                node.children = [nodes.Text(filled)]
        for node in list(self.document.findall(pending_paper)):
            node.replace_self(self.paper_link(node["paper"]))
        for node in list(self.document.findall(pending_text)):
            node.replace_self(nodes.Text(self.text(node)))

    def verdict_link(self, claim_id: str) -> nodes.Node:
        entry = verdicts(self.env).get(claim_id)
        if entry is None:
            return badge(verdict_of(self.env, find_claim(claim_id)))
        target = self.app.builder.get_relative_uri(self.env.docname, entry["docname"])
        link = nodes.reference(
            "", "", internal=True, refuri=f"{target}#claim-{claim_id}", classes=["verdict-link"]
        )
        link += badge(entry["record"]["verdict"])
        return link

    def resolution(self, claim_id: str) -> str:
        entry = verdicts(self.env).get(claim_id)
        return resolution_of(entry["record"]) if entry else ""

    def badge_html(self, claim_id: str) -> str:
        """The verdict as HTML, linked to the card of the claim if a cell has decided it."""
        link = self.verdict_link(claim_id)
        classes = " ".join(badge(link.astext())["classes"])
        html = f'<span class="{classes}" title="{claim_id}">{link.astext()}</span>'
        return f'<a class="verdict-link" href="{link["refuri"]}">{html}</a>' if "refuri" in link else html

    def page_links(self, claim_id: str) -> list[nodes.Node]:
        anchors = {
            "scorecard": f"scorecard-{claim_id}",
            "paper's page": f"verdict-{claim_id}",
            "erratum": f"erratum-{erratum_of(claim_id)}",
        }
        links = []
        for name, anchor in anchors.items():
            if (page := ledger_pages(self.env).get(anchor)) not in (None, self.env.docname):
                uri = self.app.builder.get_relative_uri(self.env.docname, page)
                links += [
                    nodes.Text(" "),
                    nodes.reference(
                        "", name, internal=True, refuri=f"{uri}#{anchor}", classes=["claim-page"]
                    ),
                ]
        return links

    def report_link(self, claim_id: str) -> nodes.Node:
        """A link to where one says that a verdict is wrong, if the book knows such a place."""
        address = self.app.emit_firstresult("claim-report", self.env.docname, find_claim(claim_id))
        if not address:
            return nodes.Text("")
        return nodes.reference("", "this is wrong", internal=True, refuri=address, classes=["claim-report"])

    def paper_link(self, key: str) -> nodes.Node:
        paper = next(paper for paper in read_ledger() if paper.key == key)
        name = [nodes.emphasis("", paper.title), nodes.Text(f" {key}")]
        pages = [
            page for claim in paper.claims if (page := ledger_pages(self.env).get(f"verdict-{claim.id}"))
        ]
        if not pages:
            return nodes.inline("", "", *name)
        target = self.app.builder.get_relative_uri(self.env.docname, pages[0])
        return nodes.reference("", "", *name, internal=True, refuri=target)

    def text(self, node: pending_text) -> str:
        if node["what"] == "tally":
            *key, verdict = node["argument"].rsplit(" ", 1)
            return str(tally(self.env, *key)[verdict.replace("_", " ")])
        entry = verdicts(self.env).get(node["argument"])
        if entry is None:
            LOGGER.warning("no cell has decided the claim %s", node["argument"], location=self.env.docname)
            return "not yet measured"
        return number(entry["record"]["comparison"]["measured"])


class PendingTextRole(SphinxRole):
    """``{tally}`min2024 verified``, ``{tally}`decided``, ``{tally}`ours claims``; ``{measured}`claim-id``."""

    def run(self) -> tuple[list[nodes.Node], list]:
        dependent_pages(self.env).add(self.env.docname)
        return [pending_text(what=self.name, argument=self.text)], []


# --- Sphinx events -----------------------------------------------------------------------------------------


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    for claim_id in [key for key, entry in verdicts(env).items() if entry["docname"] == docname]:
        del verdicts(env)[claim_id]
    for anchor in [name for name, page in ledger_pages(env).items() if page == docname]:
        del ledger_pages(env)[anchor]
    dependent_pages(env).discard(docname)


def note_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Note the pages whose cells have made HTML with places for verdicts."""
    if any("data-claim=" in node.astext() for node in doctree.findall(nodes.raw)):
        dependent_pages(app.env).add(app.env.docname)


def fold_checks(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the source of the cells that show a verdict: the card is the text.  Their pages link to others."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and next(cell.findall(details), None):
            dependent_pages(app.env).add(app.env.docname)
            if "hide_mode" not in cell and SHOW_SOURCE not in cell["classes"]:
                cell["hide_mode"] = "input"
                cell["prompt_show"] = app.config.nb_code_prompt_show
                cell["prompt_hide"] = app.config.nb_code_prompt_hide


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages that show verdicts of other pages, if what is shown of any claim has changed."""
    known = [
        (name, one["docname"], one["record"]["verdict"], one["record"]["comparison"]["measured"])
        for name, one in sorted(verdicts(env).items())
    ]
    shown = (known, sorted(ledger_pages(env).items()))
    if getattr(env, "claims_shown", None) == shown:
        return []
    env.claims_shown = shown
    return sorted(dependent_pages(env))


def setup(app: Sphinx) -> None:
    """Register what shows verdicts; ``claim-report`` asks for the address where an error is reported."""
    app.add_event("claim-report")
    for node in (
        *(pending_verdict, pending_pages, pending_report, pending_resolution, pending_paper, pending_text),
    ):
        app.add_node(node)
    for node in (details, summary):
        others = dict.fromkeys(("latex", "text", "man", "texinfo"), (pass_through, pass_through))
        app.add_node(node, html=(visit_html, depart_html), **others)
    for name in ("tally", "measured"):
        app.add_role(name, PendingTextRole())
    app.add_post_transform(FillPlaceholders)
    app.connect("env-purge-doc", forget_page)
    app.connect("doctree-read", note_tables)
    app.connect("doctree-read", fold_checks)
    app.connect("env-updated", pages_to_rewrite)
