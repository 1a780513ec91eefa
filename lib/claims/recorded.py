"""Claims that rest on a record: the same check runs, here and now, at the reduced size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.checks import whole
from lib.claims.ledger import Paper
from lib.claims.verify import ClaimFailed, Verdict, verify
from lib.experiments.records import RECORDS, recorded
from lib.experiments.registry import find
from lib.seeds import book_seed

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

    ``check`` takes the metrics of the seeds, a list of dictionaries, and returns the keyword arguments of
    :func:`lib.claims.verify.verify`.  It is called twice: with what the quick configuration gives for ``seeds``
    (moved by ``BOOK_SEED``) on this machine, and with the record of ``variant``; the verdict is that of the record.  A chapter that
    decides a claim in this way therefore runs the check at reduced size whenever it is tested.

    Raises :class:`lib.claims.verify.ClaimFailed` if either fails, saying which; :class:`lib.experiments.records.NoRecord` if
    there is none; ``ValueError`` for seeds that are no whole numbers, an unknown experiment, and whatever
    :func:`lib.claims.verify.verify` refuses.

    Example:

    >>> verify_recorded("boursier2022-fig-6", dict, "no-such-experiment")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name is 'no-such-experiment', which is no experiment; ...
    """
    experiment = find(name)
    if not callable(check):
        raise ValueError(f"check is {check!r}, allowed: a function of the metrics")
    if not isinstance(seeds, Sequence) or isinstance(seeds, str) or not seeds:
        raise ValueError(f"seeds is {seeds!r}, allowed: a sequence of at least one seed")
    record = recorded(name, variant, folder)
    here = experiment.run(experiment.quick, [book_seed(whole("seeds", seed)) for seed in seeds], "cpu")
    for metrics, size in ((here, "at the reduced size"), (record.metrics, f"on the record ({variant})")):
        try:
            verdict = verify(claim_id, **check(metrics), ledger=ledger)
        except ClaimFailed as failure:
            raise ClaimFailed(f"{size}: {failure}") from None
    return verdict
