"""Claims that rest on a record: the same check runs, here and now, at the reduced size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.claims.ledger import Paper
from lib.claims.verify import ClaimFailed, Verdict, verify
from lib.experiments.records import RECORDS, recorded
from lib.experiments.registry import quick

Check = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]]
"""Maps the metrics of the seeds to the keyword arguments of :func:`lib.claims.verify.verify`."""


def verify_recorded(
    claim_id: str,
    check: Check,
    name: str,
    variant: str = "full",
    *,
    seeds: Sequence[int] = (0, 1, 2),
    folder: Path = RECORDS,
    ledger: tuple[Paper, ...] | None = None,
) -> Verdict:
    """Decide a claim by the record of an experiment, after the same check at the quick configuration.

    ``check`` is called twice: with what the quick configuration gives for ``seeds`` on this machine, computed
    once however many claims rest on it, and with the metrics on record of ``variant``, whose verdict is
    returned.  A chapter that decides a claim so runs the check at reduced size whenever it is tested.

    Raises :class:`lib.claims.verify.ClaimFailed` if either fails, saying which;
    :class:`lib.experiments.records.NoRecord` if there is none; ``ValueError`` for seeds that are no whole
    numbers, an unknown experiment, and whatever :func:`lib.claims.verify.verify` refuses.
    """
    record = recorded(name, variant, folder)
    _decide("at the reduced size", claim_id, check(quick(name, seeds)), ledger)
    return _decide(f"on the record ({variant})", claim_id, check(record.metrics), ledger)


def _decide(size: str, claim_id: str, found: Mapping[str, Any], ledger: tuple[Paper, ...] | None) -> Verdict:
    try:
        return verify(claim_id, **found, ledger=ledger)
    except ClaimFailed as failure:
        raise ClaimFailed(f"{size}: {failure}") from None
