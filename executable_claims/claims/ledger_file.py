"""Reads a file of the ledger, and says all that is wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml

from executable_claims.claims import clauses
from executable_claims.claims.ledger import (
    KINDS,
    OURS,
    REMARKS,
    SHOWN,
    THINGS,
    VERDICTS,
    Claim,
    Erratum,
    Paper,
)

WRITTEN = {  # what fields of these types hold
    "str": ("text", str),
    "int": ("number", int),
    "Sequence[str]": ("list", list),
    "Sequence[str | Mapping[str, str]]": ("list", list),
    "Mapping[str, str]": ("mapping", dict),
    "tuple[Claim, ...]": ("list", tuple),
    "tuple[Erratum, ...]": ("list", tuple),
}


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML, and refuses a field that is given twice, of which it would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return what a node maps."""
        for name, count in Counter(name.value for name, _ in node.value).items():
            if count > 1:
                raise yaml.constructor.ConstructorError(
                    problem=f"{name} is given twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


def read_paper(path: Path) -> Paper:
    """Read and validate one ledger file.

    Raises ``ValueError`` that names the file and all its mistakes: another form, a field that is unknown,
    missing or given twice, an unknown kind or verdict, an id that is foreign or used twice, a claim without a
    sentence in words or that names nothing it is about, and remarks that do not go with the expected verdict.
    """
    text = path.read_text(encoding="utf-8")
    mistakes: list[str] = []
    try:
        content = yaml.load(text, Loader)
        head = content.pop("paper")
        for name, kind in (("claims", Claim), ("errata", Erratum), ("remarks", Erratum)):
            entries = [{"paper": head["key"], **fields} for fields in content.pop(name, None) or ()]
            head[name] = tuple(filter(None, (_entry(kind, fields, mistakes) for fields in entries)))
        mistakes += [f"unknown list {name}" for name in content]
        paper = _entry(Paper, head, mistakes)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        what = error if isinstance(error, yaml.YAMLError) else repr(error)
        if "mapping values are not allowed" in str(error):
            what = f"{what}\na text that holds a colon and a space stands in quotes, or below '>-'"
        raise ValueError(
            f"{path.name}: {what}; allowed: a mapping of paper, claims, errata and remarks"
        ) from None
    if mistakes := [*mistakes, *(_mistakes(paper) if paper else ())]:
        raise ValueError("\n".join(f"{path.name}:{_line(text, each)} {each}" for each in mistakes))
    return paper


def _entry(kind: type, given: Mapping[str, Any], mistakes: list[str]) -> Any:
    """The entry with these fields; ``None``, and what is wrong with them noted, if they do not fit."""
    known = {field.name: field for field in fields(kind)}
    wrong = [f"unknown field {name}, allowed: {', '.join(known)}" for name in sorted({*given} - {*known})]
    wrong += [
        f"field {name} is missing"
        for name, field in known.items()
        if field.default is field.default_factory is MISSING and name not in given
    ]
    for name in (name for name in given if name in known):
        what, written = WRITTEN[str(known[name].type)]
        if not isinstance(given[name], written):
            wrong.append(f"{name} is {given[name]!r}, allowed: a {what}")
    called = given.get("id", f"{kind.__name__.lower()} without id" if kind is not Paper else "paper")
    mistakes += [f"{called}: {mistake}" for mistake in wrong]
    return None if wrong else kind(**given)


def _line(text: str, mistake: str) -> str:
    """Where the id stands that a mistake begins with; empty if it stands nowhere."""
    place = re.search(rf"^\s*-?\s*id: [\"']?{re.escape(mistake.partition(':')[0])}[\"']?\s*$", text, re.M)
    return f"{text.count(chr(10), 0, place.start()) + 1}:" if place else ""


def _mistakes(paper: Paper) -> Iterator[str]:
    """What the entries of a ledger file have wrong, in words."""
    claims = [claim.id for claim in paper.claims]
    notes = [*paper.errata, *paper.remarks]
    for name, count in Counter([*claims, *(note.id for note in notes)]).items():
        if not re.fullmatch(rf"{re.escape(paper.key)}-[\w.-]+", name):
            yield f"{name}: an id starts with {paper.key!r} and a dash; letters, digits, dots, dashes follow"
        if count > 1:
            yield f"{name}: the id is used twice"
    for note in notes:
        if unknown := set(note.claims).difference(claims):
            yield f"{note.id}: claims that are not listed: {', '.join(sorted(unknown))}"
    for words, count in Counter(claim.in_words for claim in paper.claims).items():
        if count > 1:
            yield f"the same words for {count} claims: {words}"
    for claim in paper.claims:
        yield from (f"{claim.id}: {mistake}" for mistake in _claim_mistakes(claim))
        said = clauses.mistakes(claim.says, claim.over, claim.corrected or claim.statement, claim.id, claims)
        yield from (f"{claim.id}: {mistake}" for mistake in said)


def _claim_mistakes(claim: Claim) -> Iterator[str]:
    for name, allowed in (("kind", KINDS), ("expected", VERDICTS), ("shown", ("", *SHOWN)), ("ours", OURS)):
        if (value := getattr(claim, name)) not in allowed:
            yield f"{name} is {value!r}, allowed: {', '.join(map(repr, allowed))}"
    if claim.expected in VERDICTS:
        remarks = tuple(name for name in REMARKS if getattr(claim, name))
        if remarks != VERDICTS[claim.expected]:
            yield f"says {remarks}, allowed for {claim.expected!r}: {VERDICTS[claim.expected]}"
    if bool(claim.near) != (claim.ours == "new"):
        yield "near is the nearest known work of what is ours and new, and of nothing else"
    if ", ".join(thing.name for thing in claim.things) != claim.about or not claim.about:
        yield f"about is {claim.about!r}, allowed: one or more of {', '.join(THINGS)}, each with its number"
    if not re.fullmatch(r"[^$\\]{20,240}[.!?]", claim.in_words):
        yield f"in_words is {claim.in_words!r}, allowed: a sentence of 20 to 240 letters without symbols"
