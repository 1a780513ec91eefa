"""Claims decided: :func:`verify` compares a measurement with a claim of the ledger.

A chapter decides an entry of the ledger with one call, which fails if the measurement fails *or* if its
negative control passes: the same comparison with a hypothesis broken, or with the theory made wrong.  A check
that could not have failed is no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from executable_claims.claims import tables
from executable_claims.claims.clauses import Clause, refuse_narrow, refuse_other
from executable_claims.claims.comparison import (
    MISSED,
    Deviations,
    broadcast,
    deviations,
    number,
    resolution,
    targets_of,
    worst,
)
from executable_claims.claims.configuration import NoBook
from executable_claims.claims.ledger import Claim, find_claim
from executable_claims.claims.verdict import Variant, Varied, Verdict, refuse_blank

CONTROL = (
    "a theory that a reasonable person could have believed, and that this check must refuse: "
    'control=Variant("a lost factor of two", predicted=2 * law)'
)
BELIEVED = 100.0  # nobody believes a theory that is farther off, in units of what is measured
PASSES = {
    "control": "the control passes, so the check could not have failed",
    "impostor": "what lacks that which is claimed passes too",
    "printed": "the printed statement holds after all",
}


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says."""


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


def _varied(role: str, variant: Variant, check: _Check, size: float) -> Varied:
    """What becomes of a comparison with the variant; refuse one that fails whatever was measured.

    ``size`` is that of what is compared, without the variant; 0 if it is not known.
    """
    changed = targets_of(vars(variant))
    measured = check.measured if variant.measured is None else variant.measured
    try:
        deviation = deviations(measured, changed or check.targets, check.rtol, check.atol)
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None
    if variant.measured is None:
        _refuse_hopeless(f"{role} {variant.what!r}", changed, check)
    comparison, distance = worst(deviation), deviation.distance(variant.share)
    times = comparison.error / size if size else 0.0
    return Varied(variant.what, comparison, variant.share, distance, believable=times <= BELIEVED)


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
    """Refuse a measurement compared with itself, and numbers of the same bits where some may differ."""
    measured = check.measured
    for name, target in check.targets.items():
        same = not check.exact and np.array_equal(target, measured) and np.unique(target).size > 1
        same &= columns or bool(np.any(np.asarray(target) % 1))  # whole numbers agree by themselves
        if same or (isinstance(target, np.ndarray) and target is measured):
            raise ValueError(
                f"{name} is measured itself, allowed: what another route gives; for counts, no tolerance"
            )


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
    control: Variant | Sequence[Variant] | None = None,
    impostor: Variant | None = None,
    printed: Variant | None = None,
    data: str | None = None,
    families: str | None = None,
    scale: float | None = None,
) -> Verdict:
    """Decide one claim by a measurement and a negative control.

    ``claim`` is a sentence that says what is claimed or, in a book, the id of an entry of its ledger.
    ``measured`` is compared with ``predicted`` or with bounds as in :func:`.comparison.deviations`.  Of a
    table that is ``compared``, a mapping of columns, they are the columns of these names, or those that a
    text names; the columns before the measured one say where a row is from, and the verdict says what was
    drawn and which row is the worst.  A sentence that says several things has a :class:`.Clause` for each,
    which takes from here what it does not give itself.
    ``because`` says where the tolerance comes from; ``atol`` may be a column.  ``control``, another theory or
    several, must fail, and so must an ``impostor``, the same measurement of what lacks that which is claimed.
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
    __tracebackhide__ = True  # in pytest: the line that matters is the caller's
    claim = claim if isinstance(claim, Claim) else _claim(claim)
    given = {name: value for name, value in locals().items() if name in CHECK and value is not None}
    try:
        clauses = _clauses(claim, compared)
        verdicts = []
        for clause in clauses:  # no comprehension, whose frame pytest would show
            verdicts.append(_decided(claim, clause, {**given, **clause.check}))
    except ValueError as error:
        raise ValueError(f"{claim.id}: {error}") from None
    first, *others = verdicts
    names = [each.verdict for each in verdicts if each.verdict != "verified"]
    verdict = names[0] if names else "verified"
    if claim.paper and verdict != claim.expected:
        how = ", for its printed form fails as it should" if verdict in ("corrected", "refuted") else ""
        raise ClaimFailed(
            f"{claim.name}: the ledger expects {claim.expected!r}, the cell found {verdict!r}{how}; "
            "if the cell is right, change the ledger"
        )
    made = replace(first, verdict=verdict, others=tuple(others))
    for listener in LISTENERS:
        listener(made)
    return made


LISTENERS: list[Callable[[Verdict], None]] = []  # are told each verdict, as a plugin of a test runner is
ROLES = ("control", "impostor", "printed")
CHECK = ("measured", *MISSED, "rtol", "atol", "because", *ROLES, "data", "families", "scale")


def _claim(said: str) -> Claim:
    """The claim that a sentence makes, or that has this id in the ledger."""
    __tracebackhide__ = True
    allowed = "a sentence that says what is claimed, or the id of an entry of a book's ledger"
    if not isinstance(said, str) or not said.strip():
        raise ValueError(f"claim is {said!r}, allowed: {allowed}")
    try:
        return Claim.stated(said) if len(said.split()) > 1 else find_claim(said)
    except NoBook as error:
        raise NoBook(f"claim is {said!r}, allowed: {allowed}; here is no book: {error}") from None


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
    __tracebackhide__ = True
    _refuse_incomplete(clause, given)
    table = clause.table
    check, known = _read_check(table, given)
    variants = [(role, _read_variant(role, each, table, known)) for role, each in _variants(given)]
    _refuse_wordless(given)
    scale = number("scale", given["scale"], positive=True) if "scale" in given else None
    deviation = deviations(*check)
    comparison, (least, words) = worst(deviation), resolution(*check, scale=scale)
    _refuse_same(check, columns=table is not None)
    row = "" if table is None else tables.place(table, comparison.entry)
    where = f"{claim.name}, {clause.says}" if clause.says else claim.name
    size = max(deviation.size, scale or 0.0)
    varied = [(role, _varied(role, variant, check, size)) for role, variant in variants]
    if not comparison.holds:
        _fail(where, f"{comparison}; tolerance: {given['because']}", row, deviation)
    for (role, variant), (_, became) in zip(variants, varied, strict=True):
        if not became.fails:
            raise ClaimFailed(f"{where}: {_passing(role, became)}")
        _refuse_near(role, variant, check)
    controls = [became for role, became in varied if role == "control"]
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
        more_controls=tuple(controls[1:]),
        control=controls[0],
        **{role: became for role, became in varied if role != "control"},  # type: ignore[arg-type]
    )


def _fail(where: str, how: str, row: str, deviation: Deviations) -> NoReturn:
    """Say that a claim fails, and in which entries."""
    __tracebackhide__ = True
    at = f" at {row}" if row else ""
    entries = f"\n{deviation.table()}" if deviation.values.size > 1 else ""
    raise ClaimFailed(f"{where} fails{at}: {how}{entries}")


def _variants(given: Mapping[str, Any]) -> Iterator[tuple[str, Variant]]:
    """Yield what must fail, with its role; of controls there may be several."""
    for role in ROLES:
        several = role == "control" and isinstance(given.get(role), Sequence)
        if role in given:
            yield from ((role, variant) for variant in (given[role] if several else [given[role]]))


def _refuse_incomplete(clause: Clause, given: Mapping[str, Any]) -> None:
    """Refuse a check without a reason or a control, and an argument that is none."""
    if "because" not in given:
        raise ValueError("because is None, allowed: a phrase that says where the tolerance comes from")
    if not given.get("control"):
        raise ValueError(f"control is {given.get('control')}, allowed: {CONTROL}")
    if unknown := [name for name in given if name not in CHECK]:
        phrase = f", {clause.says}" if clause.says else ""
        raise ValueError(f"{unknown[0]} is given{phrase}, allowed: {', '.join(CHECK)}")


def _refuse_wordless(given: Mapping[str, Any]) -> None:
    """Refuse words of a check that say nothing."""
    for name in ("because", "data", "families"):
        if name in given:
            refuse_blank(name, given[name])


def _passing(role: str, varied: Varied) -> str:
    """Say that a comparison passes, or fails in too few entries, for a variant."""
    few = f"{role} fails in too few entries, where {100 * varied.share:.3g} % must"
    how = PASSES[role] if varied.comparison.holds else few
    return f"{how}: {varied.what}: {varied.comparison}"


def _name_verdict(claim: Claim, given: Mapping[str, Any]) -> str:
    """The verdict that a check stands for, if it succeeds."""
    if "printed" in given:
        return "corrected" if claim.corrected or not claim.paper else "refuted"
    return "stand-in" if "data" in given else "verified"
