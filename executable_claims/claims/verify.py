"""Claims decided: :func:`verify` compares a measurement with a claim of the ledger.

A chapter decides an entry of the ledger with one call, which fails if the measurement fails *or* if its
negative control passes: the same comparison with a hypothesis broken, or with the theory made wrong.  A check
that could not have failed is no check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, NamedTuple

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
    table: Mapping[str, Any] | None = None

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
        parts = [line for clause in self.clauses for line in clause._lines()]
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
        for clause in self.clauses:
            at = f" (at {clause.row})" if clause.row else ""
            measured.append(f"  {clause.comparison}{at}; {clause.notices}")
            measured.append(f"  control: {clause.control.comparison}")
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


class _Check(NamedTuple):
    """What is compared, as arrays or numbers, and within what."""

    measured: ArrayLike
    targets: Mapping[str, ArrayLike]
    rtol: float
    atol: ArrayLike

    @property
    def exact(self) -> bool:
        """Whether no deviation is allowed."""
        return bool(self.rtol == np.max(self.atol) == 0)


def _read_check(table: tables.Table | None, given: Mapping[str, Any]) -> tuple[_Check, dict[str, Any]]:
    """A comparison with arrays for the columns that it names, and by role what was given or named."""
    roles = {role: given.get(role) for role in (tables.MEASURED, *MISSED)}
    known = roles if table is None else tables.named(table, roles)
    values = {role: tables.array(table, role, value) for role, value in known.items()}
    if values[tables.MEASURED] is None:
        raise ValueError("measured is missing, allowed: what was measured, or a table with such a column")
    atol = tables.array(table, "atol", given.get("atol", 0.0))
    return _Check(values[tables.MEASURED], targets_of(values), given.get("rtol", 0.0), atol), known


def _read_variant(
    role: str, variant: Variant, table: tables.Table | None, known: Mapping[str, Any]
) -> Variant:
    """A variant with arrays for the columns that it names, of its own table or of the claim's.

    ``known`` are the names that the claim gives to what it compares, which its own table has as well.
    """
    if not isinstance(variant, Variant):
        raise ValueError(f"{role} is {variant!r}, allowed: a Variant, which must fail")
    changed = {name: getattr(variant, name) for name in (tables.MEASURED, *MISSED)}
    changed = {name: value for name, value in changed.items() if value is not None}
    if variant.table is not None:
        table, targets = variant.table, targets_of(changed) or targets_of(known)
        changed = {tables.MEASURED: known[tables.MEASURED], **targets, **changed}
    return replace(
        variant, table=None, **{name: tables.array(table, name, value) for name, value in changed.items()}
    )


def _varied(role: str, variant: Variant, check: _Check) -> Varied:
    """What becomes of a comparison with the variant; refuse one that fails whatever was measured."""
    changed = targets_of(vars(variant))
    measured = check.measured if variant.measured is None else variant.measured
    try:
        comparison = compare(measured, changed or check.targets, check.rtol, check.atol)
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None
    if variant.measured is None:
        _refuse_hopeless(f"{role} {variant.what!r}", changed, check)
    return Varied(variant.what, comparison, variant.share)


def _refuse_hopeless(variant: str, changed: Mapping[str, ArrayLike], check: _Check) -> None:
    """Refuse the negation of a bound, and equality in the place of one without a tolerance."""
    targets = check.targets
    for bound, other in (("at_most", "at_least"), ("at_least", "at_most")):
        if bound in targets and other in changed and np.array_equal(targets[bound], changed[other]):
            raise ValueError(f"{variant} is the negation of the claim, allowed: another theory")
    if check.exact and "predicted" not in targets and "predicted" in changed:
        raise ValueError(
            f"{variant} asks for equality without a tolerance, which nothing measured would pass; "
            "allowed: bounds, as in the claim"
        )


def _refuse_near(role: str, variant: Variant, check: _Check) -> None:
    """Refuse another theory that within the tolerance is the claim's own."""
    values, theory = broadcast(check.measured, check.targets)
    changed = targets_of(vars(variant))
    if variant.measured is not None or set(changed) != set(theory):
        return
    away = [
        np.abs(changed[name] - target) > check.atol + check.rtol * np.abs(target)
        for name, target in theory.items()
    ]
    apart = np.any(away, axis=0).mean()
    if apart < variant.share:
        raise ValueError(
            f"{role} {variant.what!r} is farther from the claim than the tolerance in {100 * apart:.3g} % of "
            f"the {values.size} entries, allowed: in at least {100 * variant.share:.3g} %, where it must fail"
        )


def _refuse_same(check: _Check, columns: bool) -> None:
    """Refuse a measurement that is compared with itself, and a column of the same bits that is no count."""
    measured = check.measured
    for name, target in check.targets.items():
        same = columns and not check.exact and np.array_equal(target, measured) and np.unique(target).size > 1
        if same or (isinstance(target, np.ndarray) and target is measured):
            raise ValueError(f"{name} is measured itself, allowed: what another route gives")


def verify(
    claim: str | Claim,
    *compared: Mapping[str, Any] | Clause,
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
        verdicts = [_decided(claim, clause, {**given, **clause.check}) for clause in clauses]
    except ValueError as error:
        raise ValueError(f"{claim.id}: {error}") from None
    first, *others = verdicts
    names = [each.verdict for each in verdicts if each.verdict != "verified"]
    verdict = names[0] if names else "verified"
    if verdict != claim.expected:
        raise ClaimFailed(
            f"{claim.id} ({claim.place}): the ledger expects {claim.expected!r}, the cell found {verdict!r}; "
            "if the cell is right, change the ledger"
        )
    return replace(first, verdict=verdict, others=tuple(others))


ROLES = ("control", "impostor", "printed")
CHECK = ("measured", *MISSED, "rtol", "atol", "because", *ROLES, "data", "families", "scale")


def _clauses(claim: Claim, compared: Sequence[tables.Table | Clause]) -> list[Clause]:
    """What is compared, clause by clause; of a sentence that says one thing, one without a phrase."""
    clauses = [each for each in compared if isinstance(each, Clause)]
    if clauses or claim.says:
        if len(clauses) < len(compared):
            raise ValueError(f"a table is compared beside clauses, allowed: within one of {clauses}")
        refuse_other(claim.says, clauses)
    elif len(compared) > 1:
        raise ValueError(f"{len(compared)} tables are compared, allowed: one, or one a Clause")
    else:
        clauses = [Clause("", *(table for table in compared if not isinstance(table, Clause)))]
    refuse_narrow(claim.over, [clause.table for clause in clauses if clause.table is not None])
    return clauses


def _decided(claim: Claim, clause: Clause, given: Mapping[str, Any]) -> Verdict:
    """What becomes of one comparison; its verdict is that of the claim if it is the only one."""
    _refuse_incomplete(clause, given)
    phrase, table = f", {clause.says}" if clause.says else "", clause.table
    check, known = _read_check(table, given)
    variants = {role: _read_variant(role, given[role], table, known) for role in ROLES if role in given}
    _refuse_wordless(given)
    scale = number("scale", given["scale"], positive=True) if "scale" in given else None
    comparison = compare(*check)
    least, words = resolution(*check, scale=scale)
    _refuse_same(check, columns=table is not None)
    row = "" if table is None else tables.place(table, comparison.entry)
    varied: dict[str, Any] = {role: _varied(role, variant, check) for role, variant in variants.items()}
    where = f"{claim.id} ({claim.place}){phrase}"
    if not comparison.holds:
        at = f" at {row}" if row else ""
        raise ClaimFailed(f"{where} fails{at}: {comparison}; tolerance: {given['because']}")
    for role, variant in variants.items():
        if not varied[role].fails:
            raise ClaimFailed(f"{where}: {_passing(role, varied[role])}")
        _refuse_near(role, variant, check)
    drawn = [given.get("families"), "" if table is None else tables.drawn(table)]
    return Verdict(
        claim,
        _name_verdict(claim, given),
        comparison,
        rtol=float(check.rtol),
        atol=float(np.max(check.atol)),
        least_atol=float(np.min(check.atol)),
        because=given["because"],
        data=given.get("data"),
        families="; ".join(filter(None, drawn)) or None,
        row=row,
        resolution=least,
        notices=words,
        clause=clause.says,
        **varied,
    )


def _refuse_incomplete(clause: Clause, given: Mapping[str, Any]) -> None:
    """Refuse a check without a reason or a control, and an argument that is none."""
    if "because" not in given:
        raise ValueError("because is None, allowed: a phrase in words")
    if "control" not in given:
        raise ValueError("control is None, allowed: a Variant, which must fail")
    if unknown := [name for name in given if name not in CHECK]:
        phrase = f", {clause.says}" if clause.says else ""
        raise ValueError(f"{unknown[0]} is given{phrase}, allowed: {', '.join(CHECK)}")


def _refuse_wordless(given: Mapping[str, Any]) -> None:
    """Refuse words of a check that say nothing."""
    for name in ("because", "data", "families"):
        if name in given:
            _refuse_blank(name, given[name])


def _passing(role: str, varied: Varied) -> str:
    """Say that a comparison passes, or fails in too few entries, for a variant."""
    few = f"{role} fails in too few entries, where {100 * varied.share:.3g} % must"
    how = PASSES[role] if varied.comparison.holds else few
    return f"{how}: {varied.what}: {varied.comparison}"


def _name_verdict(claim: Claim, given: Mapping[str, Any]) -> str:
    """The verdict that a check stands for, if it succeeds."""
    if "printed" in given:
        return "corrected" if claim.corrected else "refuted"
    return "stand-in" if "data" in given else "verified"
