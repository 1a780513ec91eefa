"""Claims decided: :func:`lib.claims.verify.verify` compares a measurement with a claim of the ledger.

A chapter decides an entry of the ledger with one call, which fails if the measurement fails *or* if its
negative control passes: the same comparison with a hypothesis broken, or with the theory made wrong.  A check
that could not have failed is no check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import number, numbers
from lib.claims.ledger import Claim, find_claim

MIME = "application/vnd.learning-dynamics.claim+json"

# By how much each kind of target is missed; negative is the distance to a bound that is kept.
_MISSED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "predicted": lambda values, target: abs(values - target),
    "at_most": lambda values, target: values - target,
    "at_least": lambda values, target: target - values,
}


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says.

    The message holds the claim, its place, the worst entry and the tolerance.
    """


@dataclass(frozen=True)
class Comparison:
    """The worst entry of a measurement against its targets, as plain floats.

    ``error`` and ``tolerance`` belong to the entry shown, the one with the largest error in units of its
    tolerance; ``size`` counts the entries and ``failing`` those outside.  ``quartiles`` are the least, the
    three quartiles and the largest of the measured entries: they tell when the other entries move.
    """

    measured: float
    error: float
    tolerance: float
    size: int
    failing: int
    quartiles: tuple[float, ...]
    predicted: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether every entry is within its tolerance."""
        return self.failing == 0

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value:.6g}" for name, value in _targets(self).items())
        return (
            f"measured {self.measured:.6g}, {shown.replace('_', ' ')}, off by {self.error:.3g} where "
            f"{self.tolerance:.3g} is allowed ({self.failing} of {self.size} entries outside)"
        )


@dataclass(frozen=True)
class Variant:
    """The same comparison with something changed, which therefore must fail.

    ``what`` says in words what was changed.  Give ``measured`` when a hypothesis was broken, and one of
    ``predicted``, ``at_most``, ``at_least`` when the theory was made wrong; what is not given is taken
    from the claim's own comparison.  ``share`` is the part of the entries, from 0 to 1, that must fail; the
    comparison must fail in any case, which one entry is enough for.  Raises ``ValueError`` without words,
    when nothing is changed, and for another share.
    """

    what: str
    measured: ArrayLike | None = None
    predicted: ArrayLike | None = None
    at_most: ArrayLike | None = None
    at_least: ArrayLike | None = None
    share: float = 0.0

    def __post_init__(self) -> None:
        _refuse_blank("what", self.what)
        if self.measured is None and not _targets(self):
            raise ValueError(
                f"{self.what!r} changes nothing, allowed: measured or one of {', '.join(_MISSED)}"
            )
        number(f"{self.what!r}: share", self.share, 0, 1, ends="[]")


@dataclass(frozen=True)
class Varied:
    """A variant and what became of the comparison; ``share`` is the part of its entries that must fail."""

    what: str
    comparison: Comparison
    share: float

    @property
    def fails(self) -> bool:
        """Whether as many entries fail as must."""
        return self.comparison.failing >= max(1, self.share * self.comparison.size)

    @property
    def part(self) -> str:
        """In which part of the entries it must fail, in words; empty if one entry is enough."""
        share = "all" if self.share == 1 else f"at least {100 * self.share:.3g} % of the"
        return f" in {share} entries" if self.share else ""


@dataclass(frozen=True)
class Verdict:
    """What :func:`lib.claims.verify.verify` found: shown as a stable text, and as a card on the site.

    The text holds no measured digits, so that it is the same on every machine; :meth:`record` has them all.
    """

    claim: Claim
    verdict: str
    comparison: Comparison
    rtol: float
    atol: float
    because: str
    control: Varied
    printed: Varied | None = None
    data: str | None = None

    def __repr__(self) -> str:
        targets = _targets(self.comparison)
        shown = ", ".join(f"{name} {value:.2g}" for name, value in targets.items())
        if self.comparison.size > 1:
            shown = f"{', '.join(targets)}, each entry"
        lines = [
            f"{self.verdict}: {self.claim.id} ({self.claim.place})",
            f"  {shown.replace('_', ' ')} (rtol {self.rtol:.1g}, atol {self.atol:.1g}: {self.because})",
            f"  control fails{self.control.part}, as it must: {self.control.what}",
        ]
        if self.printed:
            lines.append(f"  as printed it fails{self.printed.part}: {self.printed.what}")
        if self.data:
            lines.append(f"  shown on stand-in data: {self.data}")
        return "\n".join(lines)

    def record(self) -> dict:
        """Return the verdict as plain values, full digits, for the site and for the drift log."""
        return asdict(self)

    def html(self) -> str:
        """Return the text with what was measured, for a notebook."""
        measured = f"{self!r}\n  {self.comparison}\n  control: {self.control.comparison}"
        return f"<pre>{escape(measured)}</pre>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self.html(), MIME: self.record()}


@dataclass(frozen=True)
class Verdicts:
    """Several verdicts of one cell: shown as their texts, and as one table on the site."""

    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        return "\n".join(repr(verdict) for verdict in self.verdicts)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        html = "\n".join(verdict.html() for verdict in self.verdicts)
        records = [verdict.record() for verdict in self.verdicts]
        return {"text/plain": repr(self), "text/html": html, MIME: records}


def verify_all(*verdicts: Verdict) -> Verdicts:
    """Show small claims, each decided by its own :func:`lib.claims.verify.verify`, as one table.

    Raises ``ValueError`` for what is no verdict.
    """
    if not all(isinstance(verdict, Verdict) for verdict in verdicts):
        raise ValueError(f"verdicts is {verdicts!r}, allowed: results of verify")
    return Verdicts(verdicts)


def compare(
    measured: ArrayLike, targets: Mapping[str, ArrayLike], rtol: float = 0.0, atol: float = 0.0
) -> Comparison:
    """Compare an array with a prediction, or with bounds, entry by entry.

    ``targets`` holds ``predicted``, or ``at_most``, ``at_least`` or both, which must both be kept: scalars,
    or arrays of the shape of ``measured``.  An entry holds within ``atol + rtol * |target|``; an error beyond
    the largest float is outside any tolerance.  Raises ``ValueError`` for empty or non-finite arrays, other
    shapes, negative tolerances, and for targets that are missing or both a prediction and a bound.
    """
    if not targets or ("predicted" in targets and len(targets) > 1):
        raise ValueError("give either predicted, or at_most and/or at_least")
    rtol, atol = number("rtol", rtol, 0, ends="[)"), number("atol", atol, 0, ends="[)")
    values = numbers("measured", measured)
    if values.size == 0:
        raise ValueError("measured is empty: nothing would be compared")
    theory = {}
    for name, target in targets.items():
        entries = numbers(name, target)
        if entries.shape not in ((), values.shape):
            raise ValueError(f"{name} has shape {entries.shape}, but measured has shape {values.shape}")
        theory[name] = np.broadcast_to(entries, values.shape)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        excess = np.stack([_MISSED[name](values, target) for name, target in theory.items()])
        errors = np.maximum(excess, 0.0)
        allowed = atol + rtol * np.abs(np.stack([*theory.values()]))
        # In units of the tolerances; NaN, where both are beyond the largest float, counts as outside.
        ratios = np.where(errors > 0, errors / allowed, 0.0)
    outside = ~np.all(ratios <= 1, axis=0)
    # The entry shown has the largest error in units of its tolerance; among entries without error, the one
    # nearest to its bound.
    worst = np.lexsort((excess.ravel(), ratios.ravel()))[-1]
    entry = worst % values.size
    return Comparison(
        measured=float(values.flat[entry]),
        error=float(errors.flat[worst]),
        tolerance=float(allowed.flat[worst]),
        size=values.size,
        failing=int(outside.sum()),
        quartiles=tuple(np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="lower").tolist()),
        **{name: float(target.flat[entry]) for name, target in theory.items()},
    )


def _targets(given: Comparison | Variant) -> dict[str, Any]:
    return {name: target for name in _MISSED if (target := getattr(given, name)) is not None}


def _refuse_blank(name: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, allowed: a phrase in words")


def _compared(role: str, variant: Variant, check: Mapping[str, Any]) -> Varied:
    """What becomes of the arguments of a comparison when the variant is changed in them."""
    if not isinstance(variant, Variant):
        raise ValueError(f"{role} is {variant!r}, allowed: a Variant, which must fail")
    changes = {"measured": variant.measured, "targets": _targets(variant) or None}
    changed = {name: value for name, value in changes.items() if value is not None}
    try:
        return Varied(variant.what, compare(**{**check, **changed}), variant.share)
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None


def _refuse_no_check(
    measured: ArrayLike, targets: Mapping[str, ArrayLike], exact: bool, control: Variant
) -> None:
    """Refuse what passes, or a control that fails, whatever was measured."""
    for name, target in targets.items():
        if isinstance(target, np.ndarray) and target is measured:
            raise ValueError(f"{name} is measured itself, allowed: what another route gives")
    if control.measured is not None:
        return
    changed = _targets(control)
    for one, other in (("at_most", "at_least"), ("at_least", "at_most")):
        if one in targets and other in changed and np.array_equal(targets[one], changed[other]):
            raise ValueError(
                f"control {control.what!r} is the negation of the claim, allowed: another theory"
            )
    if exact and "predicted" not in targets and "predicted" in changed:
        raise ValueError(
            f"control {control.what!r} asks for equality without a tolerance, which nothing measured would "
            "pass; allowed: bounds, as in the claim"
        )


def verify(
    claim_id: str,
    *,
    measured: ArrayLike,
    predicted: ArrayLike | None = None,
    at_most: ArrayLike | None = None,
    at_least: ArrayLike | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    because: str,
    control: Variant,
    printed: Variant | None = None,
    data: str | None = None,
) -> Verdict:
    """Decide one claim of the ledger by a measurement and a negative control.

    ``measured`` is compared with ``predicted`` or with bounds as in :func:`lib.claims.verify.compare`;
    ``because`` says where the tolerance comes from.  ``control`` must fail.  For a claim that the ledger
    expects to be corrected or refuted, the comparison is the repaired statement or the evidence, and
    ``printed`` is the statement as the paper has it, which must fail.  For a stand-in, ``data`` names the
    data used instead of the paper's.

    Raises :class:`lib.claims.verify.ClaimFailed` when the claim fails, when the control or the printed form
    passes, or when the verdict differs from the ledger's; ``ValueError`` for an unknown id, a missing reason,
    numbers that cannot be compared, a measurement compared with itself, and a control that is the negation of
    the claim, which no measurement could have passed together with it.
    """
    claim = find_claim(claim_id)
    where = f"{claim_id} ({claim.place})"
    given = {"predicted": predicted, "at_most": at_most, "at_least": at_least}
    targets = {name: target for name, target in given.items() if target is not None}
    check: dict[str, Any] = {"measured": measured, "targets": targets, "rtol": rtol, "atol": atol}
    try:
        _refuse_blank("because", because)
        if data is not None:
            _refuse_blank("data", data)
        main = compare(**check)
        broken = _compared("control", control, check)
        as_printed = None if printed is None else _compared("printed", printed, check)
        _refuse_no_check(measured, targets, rtol == atol == 0, control)
    except ValueError as error:
        raise ValueError(f"{claim_id}: {error}") from None
    if not main.holds:
        raise ClaimFailed(f"{where} fails: {main}; tolerance: {because}")
    for role, varied, passes in (
        ("control", broken, "passes, so the check could not have failed"),
        ("printed statement", as_printed, "holds after all"),
    ):
        if varied and not varied.fails:
            too_few = f"fails in too few entries, where {100 * varied.share:.3g} % must"
            how = passes if varied.comparison.holds else too_few
            raise ClaimFailed(f"{where}: the {role} {how}: {varied.what}: {varied.comparison}")
    found = ("corrected" if claim.corrected else "refuted") if printed else "stand-in" if data else "verified"
    if found != claim.expected:
        raise ClaimFailed(
            f"{where}: the ledger expects {claim.expected!r}, the cell found {found!r}; "
            "if the cell is right, change the ledger"
        )
    return Verdict(claim, found, main, float(rtol), float(atol), because, broken, as_printed, data)
