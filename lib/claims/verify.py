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

from numpy.typing import ArrayLike

from lib.claims.comparisons import Comparison, compare
from lib.claims.ledger import Claim, Paper, find_claim

MIME = "application/vnd.learning-dynamics.claim+json"


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says.

    The message holds the claim, its place, the worst entry and the tolerance.

    Example: a wrong prediction.

    >>> claim = Claim("toy-1", "toy", "Eq. (1)", "identity", "Angles of a triangle add to 180.", "verified")
    >>> paper = Paper("toy", "Triangles", "The authors", 2020, "0000.00000", claims=(claim,), errata=())
    >>> verify("toy-1", measured=[180, 180], predicted=190, because="exact integers",
    ...        control=Variant("a quadrangle", measured=360), ledger=(paper,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lib.claims.verify.ClaimFailed: toy-1 (Eq. (1)) fails: measured 180, predicted 190, off by 10 where 0 is ...
    """


@dataclass(frozen=True)
class Variant:
    """The same comparison with something changed, which therefore must fail.

    ``what`` says in words what was changed.  Give ``measured`` when a hypothesis was broken, and one of
    ``predicted``, ``at_most``, ``at_least`` when the theory was made wrong; what is not given is taken
    from the claim's own comparison.  Raises ``ValueError`` without words, and when nothing is changed.

    Example: a broken hypothesis, and a wrong theory.

    >>> Variant("inputs that are not orthogonal", measured=[0.3, 0.9]).predicted is None
    True
    >>> Variant("without the factor 2", predicted=0.5).what
    'without the factor 2'
    """

    what: str
    measured: ArrayLike | None = None
    predicted: ArrayLike | None = None
    at_most: ArrayLike | None = None
    at_least: ArrayLike | None = None

    def __post_init__(self) -> None:
        _words("what", self.what)
        if all(value is None for value in (self.measured, *self.targets().values())):
            raise ValueError(
                f"{self.what!r} changes nothing: measured is None, allowed: a changed measurement, or a "
                "changed predicted, at_most or at_least"
            )

    def targets(self) -> dict[str, Any]:
        """Return the changed theory: ``predicted``, ``at_most`` and ``at_least``, None where not given."""
        return {"predicted": self.predicted, "at_most": self.at_most, "at_least": self.at_least}


def _words(name: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, allowed: a phrase in words")


@dataclass(frozen=True)
class Verdict:
    """What :func:`lib.claims.verify.verify` found: shown as a stable text, and as a card on the site.

    The text holds no measured digits, so that it is the same on every machine; :meth:`record` has them all.

    Example: evidence against a claim, which is how a refuted one is decided.

    >>> claim = Claim("toy-2", "toy", "p. 3", "inequality", "x^2 >= x for all x > 0.", "refuted",
    ...               wrong="False below 1.")
    >>> paper = Paper("toy", "Squares", "The authors", 2020, "0000.00000", claims=(claim,), errata=())
    >>> import numpy as np
    >>> x = np.array([0.1, 0.5, 0.9])
    >>> found = verify("toy-2", measured=x**2 / x, at_most=0.95, because="exact",
    ...                control=Variant("x above 1", measured=2.0),
    ...                printed=Variant("x^2 / x at least 1", at_least=1.0), ledger=(paper,))
    >>> found
    refuted: toy-2 (p. 3)
      at most, each entry (rtol 0, atol 0: exact)
      control fails, as it must: x above 1
      as printed it fails: x^2 / x at least 1
    >>> found.record()["comparison"]["measured"]
    0.9
    """

    claim: Claim
    verdict: str
    comparison: Comparison
    rtol: float
    atol: float
    because: str
    control: str
    control_comparison: Comparison
    printed: str | None = None
    printed_comparison: Comparison | None = None
    data: str | None = None

    def __repr__(self) -> str:
        target = {
            "predicted": self.comparison.predicted,
            "at most": self.comparison.at_most,
            "at least": self.comparison.at_least,
        }
        shown = ", ".join(f"{name} {value:.2g}" for name, value in target.items() if value is not None)
        if self.comparison.size > 1:
            shown = f"{', '.join(name for name, value in target.items() if value is not None)}, each entry"
        lines = [
            f"{self.verdict}: {self.claim.id} ({self.claim.place})",
            f"  {shown} (rtol {self.rtol:.1g}, atol {self.atol:.1g}: {self.because})",
            f"  control fails, as it must: {self.control}",
        ]
        if self.printed:
            lines.append(f"  as printed it fails: {self.printed}")
        if self.data:
            lines.append(f"  shown on stand-in data: {self.data}")
        return "\n".join(lines)

    def record(self) -> dict:
        """Return the verdict as plain values, full digits, for the site and for the drift log."""
        return asdict(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        html = f'<pre class="verdict verdict-{escape(self.verdict)}">{escape(repr(self))}</pre>'
        return {"text/plain": repr(self), "text/html": html, MIME: self.record()}


def _vary(
    role: str,
    variant: Variant,
    measured: ArrayLike,
    targets: Mapping[str, Any],
    tolerances: Mapping[str, Any],
) -> Comparison:
    if not isinstance(variant, Variant):
        raise ValueError(f"{role} is {variant!r}, allowed: a Variant, which must fail")
    own = variant.targets()
    theory = targets if all(target is None for target in own.values()) else own
    try:
        return compare(measured if variant.measured is None else variant.measured, **theory, **tolerances)
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None


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

    ``measured`` is compared with ``predicted`` or with bounds as in
    :func:`lib.claims.comparisons.compare`; ``because`` says where
    the tolerance comes from.  ``control`` must fail.  For a claim that the ledger expects to be corrected or
    refuted, the comparison is the repaired statement or the evidence, and ``printed`` is the statement as
    the paper has it, which must fail.  For a stand-in, ``data`` names the data used instead of the paper's.

    ``ledger`` is the book's unless given.

    Raises :class:`lib.claims.verify.ClaimFailed` when the claim fails, when the control passes, or when the verdict
    differs from the ledger's; ``ValueError`` for an unknown id, a missing reason, or numbers that cannot be
    compared.

    Example: a sum in closed form, and a control that drops a term.

    >>> claim = Claim("toy-1", "toy", "Eq. (1)", "identity", "1 + ... + n = n (n + 1) / 2.", "verified")
    >>> ledger = (Paper("toy", "Sums", "The authors", 2020, "0000.00000", claims=(claim,), errata=()),)
    >>> import numpy as np
    >>> n = np.arange(1, 50)
    >>> verify("toy-1", measured=np.cumsum(n), predicted=n * (n + 1) / 2, because="integers are exact",
    ...        control=Variant("n instead of n + 1", predicted=n * n / 2), ledger=ledger)
    verified: toy-1 (Eq. (1))
      predicted, each entry (rtol 0, atol 0: integers are exact)
      control fails, as it must: n instead of n + 1

    With large n only and a wide tolerance the wrong formula passes as well.  The measurement then decides
    nothing, and the claim is not verified:

    >>> n = np.arange(1000, 1050)
    >>> wrong = Variant("n instead of n + 1", predicted=n * n / 2)
    >>> verify("toy-1", measured=n * (n + 1) / 2, predicted=n * (n + 1) / 2, rtol=0.01, because="a guess",
    ...        control=wrong, ledger=ledger)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lib.claims.verify.ClaimFailed: toy-1 (Eq. (1)): the control passes, so the check could not have failed: ...
    """
    claim = find_claim(claim_id, ledger)
    targets: dict[str, Any] = {"predicted": predicted, "at_most": at_most, "at_least": at_least}
    tolerances = {"rtol": rtol, "atol": atol}
    try:
        _words("because", because)
        if data is not None:
            _words("data", data)
        main = compare(measured, **targets, **tolerances)
        control_comparison = _vary("control", control, measured, targets, tolerances)
        printed_comparison = (
            None if printed is None else _vary("printed", printed, measured, targets, tolerances)
        )
    except ValueError as error:
        raise ValueError(f"{claim_id}: {error}") from None
    if not main.holds:
        raise ClaimFailed(f"{claim_id} ({claim.place}) fails: {main}; tolerance: {because}")
    if control_comparison.holds:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the control passes, so the check could not have failed: "
            f"{control.what}: {control_comparison}"
        )
    if printed is not None and printed_comparison is not None and printed_comparison.holds:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the printed statement holds after all: {printed.what}: "
            f"{printed_comparison}"
        )
    found = ("corrected" if claim.corrected else "refuted") if printed else "stand-in" if data else "verified"
    if found != claim.expected:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the ledger expects {claim.expected!r}, the cell found {found!r}; "
            "if the cell is right, change the ledger"
        )
    return Verdict(
        claim=claim,
        verdict=found,
        comparison=main,
        rtol=float(rtol),
        atol=float(atol),
        because=because,
        control=control.what,
        control_comparison=control_comparison,
        printed=printed.what if printed else None,
        printed_comparison=printed_comparison,
        data=data,
    )
