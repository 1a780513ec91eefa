"""Shows verdicts on the site: cards in the chapters, the scorecard, the errata, and numbers in prose.

A verdict reaches the site only as the output of an executed cell.  The renderer below turns that output into
a card and notes it in the Sphinx environment; every other page asks the environment, so that none can show a
verdict that no cell produced.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from lib.claims.ledger import LEDGER_FOLDER, VERDICTS, Claim, Paper, read_ledger
from lib.claims.verify import MIME

LOGGER = logging.getLogger(__name__)
NOT_YET = "not yet"


def verdicts(env: BuildEnvironment) -> dict[str, dict]:
    """The verdicts that executed cells have produced: claim id -> {docname, record}."""
    if not hasattr(env, "claim_verdicts"):
        env.claim_verdicts = {}
    return env.claim_verdicts


def dependent_pages(env: BuildEnvironment) -> set[str]:
    """Pages that show verdicts of other pages and are written anew in every build."""
    if not hasattr(env, "claim_pages"):
        env.claim_pages = set()
    return env.claim_pages


# --- cards -------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    return f"{value:.6g}"


def describe(comparison: dict) -> str:
    targets = (("predicted", "predicted"), ("at_most", "at most"), ("at_least", "at least"))
    shown = ", ".join(
        f"{name} {number(comparison[key])}" for key, name in targets if comparison[key] is not None
    )
    worst = f" (worst of {comparison['size']})" if comparison["size"] > 1 else ""
    off = (
        f"; off by {comparison['error']:.2g}, allowed {comparison['tolerance']:.2g}"
        if comparison["error"]
        else ""
    )
    return f"{number(comparison['measured'])}{worst}; {shown}{off}"


def badge(verdict: str) -> nodes.inline:
    return nodes.inline("", verdict, classes=["verdict-badge", f"verdict-{verdict.replace(' ', '-')}"])


def card_rows(record: dict) -> list[tuple[str, str]]:
    """The lines of a card: a name and a text in MyST."""
    claim, comparison = record["claim"], record["comparison"]
    tolerance = " + ".join(
        part
        for part in (
            f"{record['rtol']:.2g} relative" if record["rtol"] else "",
            f"{record['atol']:.2g} absolute" if record["atol"] else "",
        )
        if part
    )
    rows = [
        ("Claim" if not claim["wrong"] else "As printed", claim["statement"]),
        ("Wrong", claim["wrong"]),
        ("Corrected", claim["corrected"]),
        ("Measured", describe(comparison)),
        ("Tolerance", f"{tolerance or 'none'}: {record['because']}"),
        ("Control", f"{record['control']}: {describe(record['control_comparison'])}. Fails, as it must."),
    ]
    if record["printed"]:
        rows.append(
            ("Printed form", f"{record['printed']}: {describe(record['printed_comparison'])}. Fails.")
        )
    if record["data"]:
        rows.append(("Stand-in data", record["data"]))
    return [(name, text) for name, text in rows if text]


class ClaimRenderer:
    """Renders a verdict of a notebook as a card (an entry point of myst-nb)."""

    mime_priority_overrides = (("*", MIME, 1),)

    @staticmethod
    def handle_mime(renderer, data, inline: bool) -> list[nodes.Element] | None:
        if inline or data.mime_type != MIME:
            return None
        markdown = renderer.renderer
        env = markdown.sphinx_env
        record = json.loads(data.content) if isinstance(data.content, str) else data.content
        claim = record["claim"]
        earlier = verdicts(env).get(claim["id"])
        if earlier and (earlier["docname"] != env.docname or earlier["line"] != data.line):
            LOGGER.warning("claim %s is decided twice", claim["id"], location=(env.docname, data.line))
        verdicts(env)[claim["id"]] = {"docname": env.docname, "line": data.line, "record": record}

        def parsed(text: str) -> nodes.paragraph:
            paragraph = nodes.paragraph()
            with markdown.current_node_context(paragraph):
                markdown.nested_render_text(text, data.line or 0, inline=True)
            return paragraph

        head = nodes.paragraph(classes=["claim-head"])
        head += badge(record["verdict"])
        place = nodes.inline("", "", *parsed(claim["place"]).children, classes=["claim-place"])
        head += [nodes.literal("", claim["id"]), place]
        rows = nodes.definition_list(classes=["claim-rows"])
        for name, text in card_rows(record):
            item = nodes.definition_list_item()
            item += [nodes.term("", name), nodes.definition("", parsed(text))]
            rows += item
        card = nodes.container(
            classes=["claim-card", f"verdict-{record['verdict']}"], ids=[f"claim-{claim['id']}"]
        )
        card += [head, rows]
        return [card]


# --- pages that collect verdicts ----------------------------------------------------------------------------


class pending_verdict(nodes.Inline, nodes.Element):
    """Placeholder for a claim's verdict, linked to the cell that decides it."""


class pending_chapter(nodes.Inline, nodes.Element):
    """Placeholder for a paper's title and key, linked to the chapter that decides most of its claims."""


class pending_text(nodes.Inline, nodes.Element):
    """Placeholder for a number taken from the verdicts."""


def tally(env: BuildEnvironment, paper: Paper | None = None) -> Counter:
    """Count the claims of one paper, or of all, by verdict; plus 'claims' and 'decided'."""
    papers = [paper] if paper else read_ledger()
    claims = [claim for chosen in papers for claim in chosen.claims]
    found = [verdicts(env)[claim.id]["record"]["verdict"] for claim in claims if claim.id in verdicts(env)]
    counts = Counter(found)
    counts["claims"], counts["decided"] = len(claims), len(found)
    counts[NOT_YET] = len(claims) - len(found)
    return counts


class FillPlaceholders(SphinxPostTransform):
    """Replaces the placeholders once every chapter has been read."""

    default_priority = 5

    def run(self, **options) -> None:
        for node in list(self.document.findall(pending_verdict)):
            node.replace_self(self.verdict_link(node["claim"]))
        for node in list(self.document.findall(pending_chapter)):
            node.replace_self(self.chapter_link(node["paper"]))
        for node in list(self.document.findall(pending_text)):
            node.replace_self(nodes.Text(self.text(node)))

    def verdict_link(self, claim_id: str) -> nodes.Node:
        entry = verdicts(self.env).get(claim_id)
        if entry is None:
            return badge(NOT_YET)
        target = self.app.builder.get_relative_uri(self.env.docname, entry["docname"])
        link = nodes.reference(
            "", "", internal=True, refuri=f"{target}#claim-{claim_id}", classes=["verdict-link"]
        )
        link += badge(entry["record"]["verdict"])
        return link

    def chapter_link(self, key: str) -> nodes.Node:
        paper = next(paper for paper in read_ledger() if paper.key == key)
        name = [nodes.emphasis("", paper.title), nodes.Text(f" {key}")]
        decided = [
            verdicts(self.env)[claim.id]["docname"]
            for claim in paper.claims
            if claim.id in verdicts(self.env)
        ]
        if not decided:
            return nodes.inline("", "", *name)
        [(chapter, _)] = Counter(decided).most_common(1)
        target = self.app.builder.get_relative_uri(self.env.docname, chapter)
        return nodes.reference("", "", *name, internal=True, refuri=target)

    def text(self, node: pending_text) -> str:
        if node["what"] == "tally":
            *paper_key, verdict = node["argument"].rsplit(" ", 1)
            paper = next((p for p in read_ledger() if [p.key] == paper_key), None)
            return str(tally(self.env, paper)[verdict.replace("_", " ")])
        entry = verdicts(self.env).get(node["argument"])
        if entry is None:
            LOGGER.warning("no cell has decided the claim %s", node["argument"], location=self.env.docname)
            return "not yet measured"
        return number(entry["record"]["comparison"]["measured"])


class PendingTextRole(SphinxRole):
    """``{tally}`min2024 verified`` or ``{tally}`decided``; ``{measured}`claim-id``."""

    def run(self) -> tuple[list[nodes.Node], list]:
        dependent_pages(self.env).add(self.env.docname)
        return [pending_text(what=self.name, argument=self.text)], []


class LedgerDirective(SphinxDirective):
    """A directive that lays out the ledger, with placeholders for the verdicts."""

    def prepare(self) -> tuple[Paper, ...]:
        dependent_pages(self.env).add(self.env.docname)
        for path in LEDGER_FOLDER.glob("*.yml"):
            self.env.note_dependency(str(path))
        return read_ledger()

    def parsed(self, text: str) -> nodes.paragraph:
        container = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=self.env.docname), 0, container)
        return nodes.paragraph("", "", *(node for block in container for node in block.children))

    def table(
        self, headings: list[str], rows: list[tuple[dict, list[nodes.Node]]], classes: list[str]
    ) -> nodes.table:
        table = nodes.table(classes=classes)
        group = nodes.tgroup(cols=len(headings))
        table += group
        group += [nodes.colspec(colwidth=1) for _ in headings]
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += nodes.row("", *(nodes.entry("", nodes.paragraph("", name)) for name in headings))
        for attributes, cells in rows:
            body += nodes.row("", *(nodes.entry("", cell) for cell in cells), **attributes)
        return table


class Scoreboard(LedgerDirective):
    """``{scoreboard}``: one row a paper, one column a verdict."""

    def run(self) -> list[nodes.Node]:
        papers = self.prepare()
        columns = ["claims", *VERDICTS, NOT_YET]

        def count(argument: str) -> nodes.paragraph:
            return nodes.paragraph("", "", pending_text(what="tally", argument=argument))

        rows = []
        for paper in papers:
            title = nodes.paragraph("", "", pending_chapter(paper=paper.key))
            rows.append(({}, [title, *(count(f"{paper.key} {name.replace(' ', '_')}") for name in columns)]))
        total = [nodes.paragraph("", "", nodes.strong("", "All five"))]
        rows.append(({}, total + [count(name.replace(" ", "_")) for name in columns]))
        return [self.table(["Paper", *columns], rows, ["scoreboard"])]


class Scorecard(LedgerDirective):
    """``{scorecard}``: every claim of every paper a row."""

    def run(self) -> list[nodes.Node]:
        rows = [
            ({"classes": ["scorecard-row", paper.key]}, self.cells(claim))
            for paper in self.prepare()
            for claim in paper.claims
        ]
        table = self.table(["Verdict", "Claim", "Statement"], rows, ["scorecard"])
        return [nodes.container("", table, classes=["scorecard-frame"])]

    def cells(self, claim: Claim) -> list[nodes.Node]:
        name = nodes.paragraph("", "", nodes.literal("", claim.id))
        place = self.parsed(f"{claim.place}; {claim.kind}")
        place["classes"].append("claim-place")
        verdict = nodes.paragraph("", "", pending_verdict(claim=claim.id))
        statement = [self.parsed(claim.statement)]
        if claim.hypotheses:
            statement.append(self.parsed(f"*Hypotheses:* {claim.hypotheses}"))
        if claim.corrected:
            statement.append(self.parsed(f"*Corrected:* {claim.corrected}"))
        return [verdict, nodes.container("", name, place), nodes.container("", *statement)]


class Errata(LedgerDirective):
    """``{errata} key``: what one paper prints wrongly, the evidence, and the repair."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        papers = {paper.key: paper for paper in self.prepare()}
        if self.arguments[0] not in papers:
            raise self.error(f"no ledger for {self.arguments[0]!r}; there are {', '.join(papers)}")
        paper = papers[self.arguments[0]]
        listed = {claim for erratum in paper.errata for claim in erratum.claims}
        entries = [self.entry(e.id, e.place, e.printed, e.wrong, e.repair, e.claims) for e in paper.errata]
        entries += [
            self.entry(c.id, c.place, c.statement, c.wrong, c.corrected, (c.id,))
            for c in paper.claims
            if c.wrong and c.id not in listed
        ]
        return entries

    def entry(
        self, name: str, place: str, printed: str, wrong: str, repair: str, claims: tuple
    ) -> nodes.container:
        box = nodes.container(classes=["erratum"], ids=[f"erratum-{name}"])
        box += nodes.paragraph(
            "", "", nodes.strong("", "", *self.parsed(place).children), classes=["claim-head"]
        )
        rows = nodes.definition_list(classes=["claim-rows"])
        for term, text in (("Printed", printed), ("Wrong", wrong), ("Repair", repair)):
            if text:
                item = nodes.definition_list_item()
                item += [nodes.term("", term), nodes.definition("", self.parsed(text))]
                rows += item
        evidence = nodes.paragraph()
        for claim in claims:
            evidence += [
                pending_verdict(claim=claim),
                nodes.Text(" "),
                nodes.literal("", claim),
                nodes.Text(" "),
            ]
        if not claims:
            evidence += nodes.Text("read in the text; no cell rests on it")
        item = nodes.definition_list_item()
        item += [nodes.term("", "Evidence"), nodes.definition("", evidence)]
        rows += item
        box += rows
        return box


# --- Sphinx events -----------------------------------------------------------------------------------------


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    for claim_id in [key for key, entry in verdicts(env).items() if entry["docname"] == docname]:
        del verdicts(env)[claim_id]
    dependent_pages(env).discard(docname)


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    return sorted(dependent_pages(env))


def write_records(app: Sphinx, exception: Exception | None) -> None:
    """Write every verdict of the book, with full digits, to claims.json beside the pages."""
    if exception is None and app.builder.format == "html":
        records = [verdicts(app.env)[key]["record"] for key in sorted(verdicts(app.env))]
        Path(app.outdir, "claims.json").write_text(json.dumps(records, indent=1), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    for node in (pending_verdict, pending_chapter, pending_text):
        app.add_node(node)
    for name in ("tally", "measured"):
        app.add_role(name, PendingTextRole())
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("scorecard", Scorecard)
    app.add_directive("errata", Errata)
    app.add_post_transform(FillPlaceholders)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-updated", pages_to_rewrite)
    app.connect("build-finished", write_records)
    return {"version": "1", "env_version": 1, "parallel_read_safe": False}
