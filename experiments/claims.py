"""Claims that rest on a record: the same check runs, here and now, at the reduced size."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from executable_claims import ClaimFailed, Clause, Verdict, verify
from experiments.records import recorded
from experiments.registry import quick


def verify_recorded(
    claim_id: str,
    check: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any] | Sequence[Clause]],
    name: str,
    variant: str = "full",
    *,
    seeds: Sequence[int] = (0, 1, 2),
) -> Verdict:
    """Decide a claim by the record of an experiment, after the same check at the quick configuration.

    ``check`` maps the metrics of the seeds to the keyword arguments of ``executable_claims.verify``, or to a
    clause for each phrase of a sentence that says several things.  It is called twice: with what the quick
    configuration gives for ``seeds`` on this machine, and with the metrics on record of ``variant``, whose
    verdict is returned.

    Raises :class:`executable_claims.claims.verify.ClaimFailed` if either fails, saying which;
    :class:`experiments.records.NoRecord` if there is none; ``ValueError`` for seeds that are no whole
    numbers, an unknown experiment, and whatever :func:`executable_claims.claims.verify.verify` refuses.
    """
    record = recorded(name, variant)
    sizes = {"at the reduced size": quick(name, seeds), f"on the record ({variant})": record.metrics}
    for size, metrics in sizes.items():
        try:
            given = check(metrics)
            verdict = verify(claim_id, **given) if isinstance(given, Mapping) else verify(claim_id, *given)
        except ClaimFailed as failure:
            raise ClaimFailed(f"{size}: {failure}") from None
    return verdict
