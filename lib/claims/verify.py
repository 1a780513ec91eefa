"""Claims decided: :func:`lib.claims.verify.verify` compares a measurement with a claim of the ledger.

A chapter decides an entry of the ledger with one call, which fails if the measurement fails *or* if its
negative control passes: the same comparison with a hypothesis broken, or with the theory made wrong.  A check
that could not have failed is no check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import number, numbers
from lib.claims.ledger import Claim, Paper, find_claim

MIME = "application/vnd.learning-dynamics.claim+json"
TARGETS = ("predicted", "at_most", "at_least")


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says.

    The message holds the claim, its place, the worst entry and the tolerance.
    """


@dataclass(frozen=True)
class Comparison:
    """The worst entry of a measurement against its target, as plain floats.

    ``error`` and ``tolerance`` belong to the entry shown, the one with the largest error in units of its
    tolerance; ``size`` counts the entries and ``failing`` those outside.  ``quartiles`` are the least, the
    three quartiles and the largest of the measured entries: they tell when the other entries move.
    """

    measured: float
    predicted: float | None
    at_most: float | None
    at_least: float | None
    error: float
    tolerance: float
    size: int
    failing: int
    quartiles: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether every entry is within its tolerance."""
        return self.failing == 0

    def __str__(self) -> str:
        targets = {name: getattr(self, name) for name in TARGETS}
        shown = ", ".join(
            f"{name.replace('_', ' ')} {value:.6g}" for name, value in targets.items() if value is not None
        )
        return (
            f"measured {self.measured:.6g}, {shown}, off by {self.error:.3g} where {self.tolerance:.3g} is "
            f"allowed ({self.failing} of {self.size} entries outside)"
        )


def _entries(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = numbers(name, value)
    if array.size == 0:
        raise ValueError(f"{name} is empty: nothing would be compared")
    if shape is not None and array.shape not in ((), shape):
        raise ValueError(f"{name} has shape {array.shape}, but measured has shape {shape}")
    return array


def compare(
    measured: ArrayLike,
    *,
    predicted: ArrayLike | None = None,
    at_most: ArrayLike | None = None,
    at_least: ArrayLike | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Comparison:
    """Compare an array with a prediction, or with bounds, entry by entry.

    ``predicted``, ``at_most`` and ``at_least`` are scalars or have the shape of ``measured``; an entry holds
    within ``atol + rtol * |target|``.  Both bounds may be given, and then both must be kept.  An error beyond
    the largest float is outside any tolerance.  Raises ``ValueError`` for empty or non-finite arrays, other
    shapes, negative tolerances, and for targets that are missing or given as both a prediction and a bound.
    """
    bounded = at_most is not None or at_least is not None
    if (predicted is not None) == bounded:
        raise ValueError("give either predicted, or at_most and/or at_least")
    rtol, atol = number("rtol", rtol, 0, ends="[)"), number("atol", atol, 0, ends="[)")
    values = _entries("measured", measured)
    targets = {
        name: np.broadcast_to(_entries(name, target, values.shape), values.shape)
        for name, target in zip(TARGETS, (predicted, at_most, at_least), strict=True)
        if target is not None
    }
    missed = {
        "predicted": lambda target: abs(values - target),
        "at_most": lambda target: values - target,
        "at_least": lambda target: target - values,
    }
    with np.errstate(over="ignore"):
        # By how much each target is missed; negative is the distance to a bound that is kept.
        excess = np.stack([missed[name](target) for name, target in targets.items()])
        errors = np.maximum(excess, 0.0)
        allowed = atol + rtol * np.abs(np.stack([*targets.values()]))
        ratios = np.where(errors > 0, np.inf, 0.0)
        np.divide(errors, allowed, out=ratios, where=(allowed > 0) & np.isfinite(errors))
    failing = np.any((errors > allowed) | np.isinf(errors), axis=0)
    # The entry shown has the largest error in units of its tolerance; among entries without error, the one
    # nearest to its bound.
    worst = np.lexsort((excess.ravel(), ratios.ravel()))[-1]
    entry = worst % values.size
    shown = {key: float(target.flat[entry]) for key, target in targets.items()}
    ordered = np.sort(values, axis=None)
    return Comparison(
        measured=float(values.flat[entry]),
        predicted=shown.get("predicted"),
        at_most=shown.get("at_most"),
        at_least=shown.get("at_least"),
        error=float(errors.flat[worst]),
        tolerance=float(allowed.flat[worst]),
        size=values.size,
        failing=int(failing.sum()),
        quartiles=tuple(float(ordered[(values.size - 1) * part // 4]) for part in range(5)),
    )


def _words(name: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, allowed: a phrase in words")


@dataclass(frozen=True)
class Variant:
    """The same comparison with something changed, which therefore must fail.

    ``what`` says in words what was changed.  Give ``measured`` when a hypothesis was broken, and one of
    ``predicted``, ``at_most``, ``at_least`` when the theory was made wrong; what is not given is taken
    from the claim's own comparison.  ``share`` is the part of the entries, in (0, 1], that must fail; if it
    is not given the comparison must fail as a whole, which one entry is enough for.  Raises ``ValueError``
    without words, when nothing is changed, and for another share.
    """

    what: str
    measured: ArrayLike | None = None
    predicted: ArrayLike | None = None
    at_most: ArrayLike | None = None
    at_least: ArrayLike | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        _words("what", self.what)
        if all(value is None for value in (self.measured, *self.targets().values())):
            raise ValueError(
                f"{self.what!r} changes nothing: measured is None, allowed: a changed measurement, or a "
                "changed predicted, at_most or at_least"
            )
        if self.share is not None:
            number(f"{self.what!r}: share", self.share, 0, 1, ends="(]")

    def targets(self) -> dict[str, Any]:
        """Return the changed theory: ``predicted``, ``at_most`` and ``at_least``, None where not given."""
        return {name: getattr(self, name) for name in TARGETS}

    def compared(
        self, role: str, measured: ArrayLike, targets: Mapping[str, Any], tolerances: Mapping[str, Any]
    ) -> Varied:
        """Return what becomes of a comparison when this is changed in it."""
        theory = targets if all(target is None for target in self.targets().values()) else self.targets()
        given = measured if self.measured is None else self.measured
        try:
            return Varied(self.what, compare(given, **theory, **tolerances), self.share)
        except ValueError as error:
            raise ValueError(f"{role} {self.what!r}: {error}") from None


@dataclass(frozen=True)
class Varied:
    """A variant and what became of the comparison; ``share`` is the part of its entries that must fail."""

    what: str
    comparison: Comparison
    share: float | None

    @property
    def fails(self) -> bool:
        """Whether as many entries fail as must."""
        return self.comparison.failing >= max(1, (self.share or 0) * self.comparison.size)

    def text(self, how: str) -> str:
        """Return a line that says that it fails, and in which part of the entries it must; no digits."""
        part = "all" if self.share == 1 else f"at least {100 * (self.share or 0):.3g} % of the"
        where = f" in {part} entries" if self.share else ""
        return how.format(where) + f": {self.what}"


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
        values = {name.replace("_", " "): getattr(self.comparison, name) for name in TARGETS}
        target = {name: value for name, value in values.items() if value is not None}
        shown = ", ".join(f"{name} {value:.2g}" for name, value in target.items())
        if self.comparison.size > 1:
            shown = f"{', '.join(target)}, each entry"
        lines = [
            f"{self.verdict}: {self.claim.id} ({self.claim.place})",
            f"  {shown} (rtol {self.rtol:.1g}, atol {self.atol:.1g}: {self.because})",
            self.control.text("  control fails{}, as it must"),
        ]
        if self.printed:
            lines.append(self.printed.text("  as printed it fails{}"))
        if self.data:
            lines.append(f"  shown on stand-in data: {self.data}")
        return "\n".join(lines)

    def record(self) -> dict:
        """Return the verdict as plain values, full digits, for the site and for the drift log."""
        return asdict(self)

    def html(self) -> str:
        """Return the text with what was measured, for a notebook."""
        digits = f"{self!r}\n  {self.comparison}\n  control: {self.control.comparison}"
        return f'<pre class="verdict verdict-{escape(self.verdict)}">{escape(digits)}</pre>'

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

    Raises ``ValueError`` for fewer than two, for what is no verdict, and for a claim that comes twice.
    """
    if len(verdicts) < 2 or not all(isinstance(verdict, Verdict) for verdict in verdicts):
        raise ValueError(f"verdicts is {verdicts!r}, allowed: two or more results of verify")
    ids = [verdict.claim.id for verdict in verdicts]
    if repeated := {name for name in ids if ids.count(name) > 1}:
        raise ValueError(f"verdicts decides {', '.join(sorted(repeated))} twice, allowed: each claim once")
    return Verdicts(verdicts)


def _refuse_no_check(measured: ArrayLike, targets: Mapping[str, Any], exact: bool, control: Variant) -> None:
    """Refuse what passes, or a control that fails, whatever was measured."""
    for name, target in targets.items():
        if isinstance(target, np.ndarray) and target is measured:
            raise ValueError(f"{name} is measured itself, allowed: what another route gives")
    if not isinstance(control, Variant):
        raise ValueError(f"control is {control!r}, allowed: a Variant, which must fail")
    if control.measured is not None:
        return
    for one, other in (("at_most", "at_least"), ("at_least", "at_most")):
        bound, opposite = targets[one], control.targets()[other]
        if bound is not None and opposite is not None and np.array_equal(bound, opposite):
            raise ValueError(
                f"control {control.what!r} is the negation of the claim, allowed: another theory"
            )
    if exact and targets["predicted"] is None and control.predicted is not None:
        raise ValueError(
            f"control {control.what!r} asks for equality without a tolerance, which nothing measured would "
            "pass; allowed: bounds, as in the claim"
        )


def _passing(role: str, varied: Varied) -> str:
    if varied.comparison.holds:
        ends = {
            "control": "passes, so the check could not have failed",
            "printed statement": "holds after all",
        }
        how = ends[role]
    else:
        how = f"fails in too few entries, where {100 * (varied.share or 0):.3g} % must"
    return f"the {role} {how}: {varied.what}: {varied.comparison}"


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
    ledger: tuple[Paper, ...] | None = None,
) -> Verdict:
    """Decide one claim of the ledger by a measurement and a negative control.

    ``measured`` is compared with ``predicted`` or with bounds as in :func:`lib.claims.verify.compare`;
    ``because`` says where the tolerance comes from.  ``control`` must fail.  For a claim that the ledger
    expects to be corrected or refuted, the comparison is the repaired statement or the evidence, and
    ``printed`` is the statement as the paper has it, which must fail.  For a stand-in, ``data`` names the
    data used instead of the paper's.  ``ledger`` is the book's unless given.

    Raises :class:`lib.claims.verify.ClaimFailed` when the claim fails, when the control or the printed form
    passes, or when the verdict differs from the ledger's; ``ValueError`` for an unknown id, a missing reason,
    numbers that cannot be compared, a measurement compared with itself, and a control that is the negation of
    the claim, which no measurement could have passed together with it.

    Example: a sum in closed form, and a control that drops a term.

    >>> claim = Claim("toy-1", "toy", "Eq. (1)", "identity", "1 + ... + n = n (n + 1) / 2.", "verified")
    >>> ledger = (Paper("toy", "Sums", "The authors", 2020, "0000.00000", claims=(claim,), errata=()),)
    >>> n = np.arange(1, 50)
    >>> verify("toy-1", measured=np.cumsum(n), predicted=n * (n + 1) / 2, because="integers are exact",
    ...        control=Variant("n instead of n + 1", predicted=n * n / 2, share=1), ledger=ledger)
    verified: toy-1 (Eq. (1))
      predicted, each entry (rtol 0, atol 0: integers are exact)
      control fails in all entries, as it must: n instead of n + 1
    """
    claim = find_claim(claim_id, ledger)
    where = f"{claim_id} ({claim.place})"
    targets: dict[str, Any] = {"predicted": predicted, "at_most": at_most, "at_least": at_least}
    tolerances = {"rtol": rtol, "atol": atol}
    try:
        _words("because", because)
        if data is not None:
            _words("data", data)
        _refuse_no_check(measured, targets, rtol == atol == 0, control)
        if printed is not None and not isinstance(printed, Variant):
            raise ValueError(f"printed is {printed!r}, allowed: a Variant, which must fail")
        main = compare(measured, **targets, **tolerances)
        control_varied = control.compared("control", measured, targets, tolerances)
        printed_varied = printed.compared("printed", measured, targets, tolerances) if printed else None
    except ValueError as error:
        raise ValueError(f"{claim_id}: {error}") from None
    if not main.holds:
        raise ClaimFailed(f"{where} fails: {main}; tolerance: {because}")
    if not control_varied.fails:
        raise ClaimFailed(f"{where}: {_passing('control', control_varied)}")
    if printed_varied and not printed_varied.fails:
        raise ClaimFailed(f"{where}: {_passing('printed statement', printed_varied)}")
    found = ("corrected" if claim.corrected else "refuted") if printed else "stand-in" if data else "verified"
    if found != claim.expected:
        raise ClaimFailed(
            f"{where}: the ledger expects {claim.expected!r}, the cell found {found!r}; "
            "if the cell is right, change the ledger"
        )
    return Verdict(
        claim=claim,
        verdict=found,
        comparison=main,
        rtol=float(rtol),
        atol=float(atol),
        because=because,
        control=control_varied,
        printed=printed_varied,
        data=data,
    )
