"""Claims decided: :func:`verify` compares a measurement with a claim of the ledger.

A chapter decides an entry of the ledger with one call, which fails if the measurement fails *or* if its
negative control passes: the same comparison with a hypothesis broken, or with the theory made wrong.  A check
that could not have failed is no check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from executable_claims.claims import tables
from executable_claims.claims.clauses import Clause, refuse_narrow, refuse_other
from executable_claims.claims.comparison import (
    MISSED,
    Comparison,
    broadcast,
    compare,
    number,
    resolution,
    targets_of,
)
from executable_claims.claims.ledger import Claim, find_claim
from executable_claims.claims.processor import kernels

MIME = "application/vnd.executable-claims.claim+json"
PASSES = {
    "control": "the control passes, so the check could not have failed",
    "impostor": "what lacks that which is claimed passes too",
    "printed": "the printed statement holds after all",
}


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says."""


@dataclass(frozen=True)
class Variant:
    """The same comparison with something changed, which therefore must fail.

    ``what`` says in words what was changed.  Give ``measured`` when a hypothesis was broken, and one of
    ``predicted``, ``at_most``, ``at_least`` when the theory was made wrong; what is not given is taken
    from the claim's own comparison.  A text names a column of the claim's table.  ``table`` is another one,
    whose columns take the place of the claim's.  ``share`` is the part of the entries, above 0 and at most 1,
    that must fail: all of them where nothing else is said.  Raises ``ValueError`` without words, when nothing
    is changed, and for another share.
    """

    what: str
    measured: ArrayLike | str | None = None
    predicted: ArrayLike | str | None = None
    at_most: ArrayLike | str | None = None
    at_least: ArrayLike | str | None = None
    share: float = 1.0
    table: Mapping[str, ArrayLike] | None = None

    def __post_init__(self) -> None:
        _refuse_blank("what", self.what)
        if self.measured is None and self.table is None and not targets_of(vars(self)):
            raise ValueError(
                f"{self.what!r} changes nothing, allowed: measured or one of {', '.join(MISSED)}"
            )
        number(f"{self.what!r}: share", self.share, most=1, positive=True)


@dataclass(frozen=True)
class Varied:
    """A variant and what became of the comparison; ``share`` is the part of its entries that must fail."""

    what: str
    comparison: Comparison
    share: float

    @property
    def fails(self) -> bool:
        """Whether as many entries fail as must."""
        return self.comparison.failing >= self.share * self.comparison.size

    @property
    def part(self) -> str:
        """In which part of the entries it must fail, in words; empty for a single entry."""
        share = "all" if self.share == 1 else f"at least {100 * self.share:.3g} % of the"
        return f" in {share} entries" if self.comparison.size > 1 else ""


@dataclass(frozen=True)
class Verdict:
    """What :func:`verify` found: shown as a stable text, and as a card on the site.

    The text holds no digit that is computed, so that it is the same on every machine; :meth:`record` has all.
    ``resolution`` says how wrong a theory would have been noticed, ``None`` for a target of zero without a
    scale, and ``notices`` says it in words; ``families`` says what was drawn, ``row`` which row of a table is
    the worst.  Of a sentence that says several things the verdict has the first ``clause``, and ``others``.
    Where each row has an absolute tolerance of its own, ``atol`` is the largest and ``least_atol`` the least.
    """

    claim: Claim
    verdict: str
    comparison: Comparison
    rtol: float
    atol: float
    because: str
    control: Varied
    impostor: Varied | None = None
    printed: Varied | None = None
    data: str | None = None
    families: str | None = None
    row: str = ""
    resolution: float | None = None
    notices: str = ""
    least_atol: float = 0.0
    clause: str = ""
    others: tuple[Verdict, ...] = ()

    @property
    def clauses(self) -> tuple[Verdict, ...]:
        """What was compared, clause by clause; the verdict alone, if its sentence says one thing."""
        return (self, *self.others)

    def __repr__(self) -> str:
        parts = [line for one in self.clauses for line in one._lines()]
        return "\n".join([f"{self.verdict}: {self.claim.id} ({self.claim.place})", *parts])

    def _lines(self) -> list[str]:
        compared = [*targets_of(vars(self.comparison)), *["each entry"] * (self.comparison.size > 1)]
        lines = [f"  clause: {self.clause}"] if self.clause else []
        lines += [
            f"  {', '.join(compared).replace('_', ' ')}: {self.because}",
            f"  control fails{self.control.part}, as it must: {self.control.what}",
        ]
        if self.impostor:
            lines.append(f"  impostor fails{self.impostor.part}, as it must: {self.impostor.what}")
        if self.printed:
            lines.append(f"  as printed it fails{self.printed.part}: {self.printed.what}")
        if self.data:
            lines.append(f"  shown on stand-in data: {self.data}")
        if self.families:
            lines.append(f"  drawn: {self.families}")
        return lines

    def record(self) -> dict:
        """Return the verdict as plain values, full digits, and the kernels that computed it."""
        return {**asdict(self), "kernels": kernels()}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        measured = [repr(self)]
        for one in self.clauses:
            at = f" (at {one.row})" if one.row else ""
            measured.append(f"  {one.comparison}{at}; {one.notices}\n  control: {one.control.comparison}")
        html = f"<pre>{escape(chr(10).join(measured))}</pre>"
        return {"text/plain": repr(self), "text/html": html, MIME: [self.record()]}


class Verdicts(tuple[Verdict, ...]):
    """Several verdicts of one cell: shown as their texts, and as one table on the site."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        html = "\n".join(verdict._repr_mimebundle_()["text/html"] for verdict in self)
        return {"text/plain": repr(self), "text/html": html, MIME: [verdict.record() for verdict in self]}


def verify_all(*verdicts: Verdict) -> Verdicts:
    """Show small claims, each decided by its own :func:`verify`, as one table.

    Raises ``ValueError`` for what is no verdict.
    """
    if not all(isinstance(verdict, Verdict) for verdict in verdicts):
        raise ValueError(f"verdicts is {verdicts!r}, allowed: results of verify")
    return Verdicts(verdicts)


def _refuse_blank(name: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, allowed: a phrase in words")


def _read(role: str, variant: Variant, table: Mapping[str, Any] | None, known: Mapping[str, Any]) -> Variant:
    """A variant with arrays for the columns that it names, of its own table or of the claim's.

    ``known`` are the names that the claim gives to what it compares, which its own table has as well.
    """
    if not isinstance(variant, Variant):
        raise ValueError(f"{role} is {variant!r}, allowed: a Variant, which must fail")
    changed = {name: getattr(variant, name) for name in (tables.MEASURED, *MISSED)}
    changed = {name: value for name, value in changed.items() if value is not None}
    if variant.table is not None:
        targets = targets_of(changed) or targets_of(known)
        own = {tables.MEASURED: known[tables.MEASURED], **targets, **changed}
        return replace(variant, table=None, **tables.columns(variant.table, own))
    return variant if table is None else replace(variant, **tables.columns(table, changed))


def _compared(role: str, variant: Variant, check: Mapping[str, Any]) -> Varied:
    """What becomes of a comparison with the variant; refuse one that fails whatever was measured."""
    targets, changed = check["targets"], targets_of(vars(variant))
    measured = check["measured"] if variant.measured is None else variant.measured
    try:
        found = compare(**{**check, "measured": measured, "targets": changed or targets})
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None
    if variant.measured is None:
        exact = check["rtol"] == np.max(check["atol"]) == 0
        for one, other in (("at_most", "at_least"), ("at_least", "at_most")):
            if one in targets and other in changed and np.array_equal(targets[one], changed[other]):
                raise ValueError(
                    f"{role} {variant.what!r} is the negation of the claim, allowed: another theory"
                )
        if exact and "predicted" not in targets and "predicted" in changed:
            raise ValueError(
                f"{role} {variant.what!r} asks for equality without a tolerance, which nothing measured "
                "would pass; allowed: bounds, as in the claim"
            )
    return Varied(variant.what, found, variant.share)


def _refuse_near(role: str, variant: Variant, check: Mapping[str, Any]) -> None:
    """Refuse another theory that within the tolerance is the claim's own."""
    values, theory = broadcast(check["measured"], check["targets"])
    changed = targets_of(vars(variant))
    if variant.measured is not None or set(changed) != set(theory):
        return
    away = [
        np.abs(changed[name] - target) > check["atol"] + check["rtol"] * np.abs(target)
        for name, target in theory.items()
    ]
    apart = np.any(away, axis=0).mean()
    if apart < variant.share:
        raise ValueError(
            f"{role} {variant.what!r} is farther from the claim than the tolerance in {100 * apart:.3g} % of "
            f"the {values.size} entries, allowed: in at least {100 * variant.share:.3g} %, where it must fail"
        )


def _refuse_same(check: Mapping[str, Any], columns: bool) -> None:
    """Refuse a measurement that is compared with itself, and a column of the same bits that is no count."""
    measured, exact = check["measured"], check["rtol"] == np.max(check["atol"]) == 0
    for name, target in check["targets"].items():
        same = columns and not exact and np.array_equal(target, measured) and np.unique(target).size > 1
        if same or (isinstance(target, np.ndarray) and target is measured):
            raise ValueError(f"{name} is measured itself, allowed: what another route gives")


def verify(
    claim: str | Claim,
    *compared: Mapping[str, ArrayLike] | Clause,
    measured: ArrayLike | str | None = None,
    predicted: ArrayLike | str | None = None,
    at_most: ArrayLike | str | None = None,
    at_least: ArrayLike | str | None = None,
    rtol: float | None = None,
    atol: ArrayLike | str | None = None,
    because: str | None = None,
    control: Variant | None = None,
    impostor: Variant | None = None,
    printed: Variant | None = None,
    data: str | None = None,
    families: str | None = None,
    scale: float | None = None,
) -> Verdict:
    """Decide one claim by a measurement and a negative control.

    ``claim`` is the id of an entry of the ledger or, without a book, a :class:`.Claim`.  ``measured`` is
    compared with ``predicted`` or with bounds as in :func:`.comparison.compare`.  Of a table that is
    ``compared``, a mapping of columns, they are the columns of these names, or those that a text names; the
    columns before the measured one say where a row is from, and the verdict says what was drawn and which row
    is the worst.  A sentence that says several things has a :class:`.Clause` for each, which takes from here
    what it does not give itself.
    ``because`` says where the tolerance comes from; ``atol`` may be a column.  ``control``, another theory,
    must fail, and so must an ``impostor``, the same measurement of something that lacks what is claimed.
    ``families`` says what was drawn, ``scale`` what a target of zero is small beside.  For a claim that the
    ledger expects to be corrected or refuted, the comparison is the repaired statement or the evidence, and
    ``printed`` is the statement as the paper has it, which must fail.  For a stand-in, ``data`` names the
    data used instead of the paper's.

    Raises :class:`ClaimFailed` when the claim fails, when the control or the printed form passes, or when
    the verdict differs from the ledger's; ``ValueError`` for an unknown id, a missing reason, numbers that
    cannot be compared, a measurement compared with itself, a control that is the negation of the claim or
    within its tolerance, a clause of the entry that is not compared once, and a table that lacks the range
    that the entry speaks over.
    """
    claim = claim if isinstance(claim, Claim) else find_claim(claim)
    given = {name: value for name, value in locals().items() if name in CHECK and value is not None}
    try:
        clauses = _clauses(claim, compared)
        verdicts = [_decided(claim, one, {**given, **one.check}) for one in clauses]
    except ValueError as error:
        raise ValueError(f"{claim.id}: {error}") from None
    first, *others = verdicts
    found = next((one.verdict for one in verdicts if one.verdict != "verified"), "verified")
    if found != claim.expected:
        raise ClaimFailed(
            f"{claim.id} ({claim.place}): the ledger expects {claim.expected!r}, the cell found {found!r}; "
            "if the cell is right, change the ledger"
        )
    return replace(first, verdict=found, others=tuple(others))


ROLES = ("control", "impostor", "printed")
CHECK = ("measured", *MISSED, "rtol", "atol", "because", *ROLES, "data", "families", "scale")


def _clauses(claim: Claim, compared: Sequence[Mapping[str, ArrayLike] | Clause]) -> list[Clause]:
    """What is compared, clause by clause; of a sentence that says one thing, one without a phrase."""
    clauses = [one for one in compared if isinstance(one, Clause)]
    if clauses or claim.says:
        if len(clauses) < len(compared):
            raise ValueError(f"a table is compared beside clauses, allowed: within one of {clauses}")
        refuse_other(claim.says, clauses)
    elif len(compared) > 1:
        raise ValueError(f"{len(compared)} tables are compared, allowed: one, or one a Clause")
    else:
        clauses = [Clause("", *(table for table in compared if not isinstance(table, Clause)))]
    refuse_narrow(claim.over, [one.table for one in clauses if one.table is not None])
    return clauses


def _decided(claim: Claim, clause: Clause, given: Mapping[str, Any]) -> Verdict:
    """What becomes of one comparison; its verdict is that of the claim if it is the only one."""
    phrase = f", {clause.says}" if clause.says else ""
    where, table = f"{claim.id} ({claim.place}){phrase}", clause.table
    if "because" not in given or "control" not in given:
        missing = "control is None, allowed: a Variant, which must fail"
        raise ValueError(missing if "because" in given else "because is None, allowed: a phrase in words")
    if unknown := [name for name in given if name not in CHECK]:
        raise ValueError(f"{unknown[0]} is given{phrase}, allowed: {', '.join(CHECK)}")
    because, scale = given["because"], given.get("scale")
    roles = {name: given.get(name) for name in ("measured", *MISSED)}
    known = roles if table is None else tables.named(table, roles)
    values = known if table is None else tables.columns(table, known)
    if values[tables.MEASURED] is None:
        raise ValueError("measured is missing, allowed: what was measured, or a table with such a column")
    check: dict[str, Any] = {"measured": values[tables.MEASURED], "targets": targets_of(values)}
    check["rtol"], check["atol"] = given.get("rtol", 0.0), given.get("atol", 0.0)
    if table is not None:
        check["atol"] = tables.array(table, "atol", check["atol"])
    variants = {name: given[name] for name in ROLES if name in given}
    variants = {role: _read(role, variant, table, known) for role, variant in variants.items()}
    for name in ("because", "data", "families"):
        if name in given:
            _refuse_blank(name, given[name])
    if scale is not None:
        scale = number("scale", scale, positive=True)
    main = compare(**check)
    finest, words = resolution(**check, scale=scale)
    _refuse_same(check, columns=table is not None)
    row = "" if table is None else tables.place(table, main.entry)
    varied: dict[str, Any] = {role: _compared(role, variant, check) for role, variant in variants.items()}
    if not main.holds:
        raise ClaimFailed(f"{where} fails{f' at {row}' if row else ''}: {main}; tolerance: {because}")
    for role, one in varied.items():
        if not one.fails:
            few = f"{role} fails in too few entries, where {100 * one.share:.3g} % must"
            how = PASSES[role] if one.comparison.holds else few
            raise ClaimFailed(f"{where}: {how}: {one.what}: {one.comparison}")
        _refuse_near(role, variants[role], check)
    broken = "corrected" if claim.corrected else "refuted"
    verdict = broken if "printed" in given else "stand-in" if "data" in given else "verified"
    drawn = "; ".join(filter(None, [given.get("families"), "" if table is None else tables.drawn(table)]))
    about: dict[str, Any] = {
        "data": given.get("data"),
        "families": drawn or None,
        "row": row,
        "clause": clause.says,
    }
    about |= {"rtol": float(check["rtol"]), "atol": float(np.max(check["atol"]))}
    about["least_atol"] = float(np.min(check["atol"]))
    about |= {"resolution": finest, "notices": words}
    return Verdict(claim, verdict, main, because=because, **varied, **about)
