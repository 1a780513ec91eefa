"""What a check says: a verdict, its controls, and how they are shown, as text, as HTML and as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from numpy.typing import ArrayLike

from executable_claims.claims.comparison import MISSED, Comparison, number, targets_of
from executable_claims.claims.ledger import Claim
from executable_claims.claims.processor import kernels

MIME = "application/vnd.executable-claims.claim+json"


def refuse_blank(name: str, value: str) -> None:
    """Raise ``ValueError`` for what is no phrase."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, allowed: a phrase in words")


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
        refuse_blank("what", self.what)
        if self.measured is None and self.table is None and not targets_of(vars(self)):
            raise ValueError(
                f"{self.what!r} changes nothing, allowed: measured or one of {', '.join(MISSED)}"
            )
        number(f"{self.what!r}: share", self.share, most=1, positive=True)


@dataclass(frozen=True)
class Varied:
    """A variant and what became of the comparison; ``share`` is the part of its entries that must fail.

    ``distance`` is by how many tolerances these miss at least, ``None`` where no deviation is allowed; a
    theory is not ``believable`` that misses by a hundred times what is measured.
    """

    what: str
    comparison: Comparison
    share: float
    distance: float | None = None
    believable: bool = True

    @property
    def fails(self) -> bool:
        """Whether as many entries fail as must."""
        return self.comparison.failing >= self.share * self.comparison.size

    @property
    def far(self) -> str:
        """How far away it is, in words."""
        by = "" if self.distance is None else f", {self.distance:.2g} tolerances away or more"
        return by if self.believable else f"{by}: nobody would have believed it"

    @property
    def part(self) -> str:
        """In which part of the entries it must fail, in words; empty for a single entry."""
        share = "all" if self.share == 1 else f"at least {100 * self.share:.3g} % of the"
        return f" in {share} entries" if self.comparison.size > 1 else ""


@dataclass(frozen=True)
class Verdict:
    """What ``verify`` found: shown as a stable text, and as a card on the site.

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
    more_controls: tuple[Varied, ...] = ()
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
    def controls(self) -> tuple[Varied, ...]:
        """The other theories that it refused."""
        return (self.control, *self.more_controls)

    @property
    def clauses(self) -> tuple[Verdict, ...]:
        """What was compared, clause by clause; the verdict alone, if its sentence says one thing."""
        return (self, *self.others)

    def __repr__(self) -> str:
        parts = [line for clause in self.clauses for line in clause._lines()]
        return "\n".join([f"{self.verdict}: {self.claim.name}", *parts])

    def _lines(self) -> list[str]:
        compared = [*targets_of(vars(self.comparison)), *["each entry"] * (self.comparison.size > 1)]
        lines = [f"  clause: {self.clause}"] if self.clause else []
        lines += [
            f"  {', '.join(compared).replace('_', ' ')}: {self.because}",
            *(f"  control fails{each.part}, as it must: {each.what}" for each in self.controls),
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
            measured += [f"  control: {control.comparison}{control.far}" for control in clause.controls]
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
    """Show small claims, each decided by its own ``verify``, as one table.

    Raises ``ValueError`` for what is no verdict.
    """
    if not all(isinstance(verdict, Verdict) for verdict in verdicts):
        raise ValueError(f"verdicts is {verdicts!r}, allowed: results of verify")
    return Verdicts(verdicts)
