"""Executable claims: a ledger of what papers claim, and checks that decide it and could have failed."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executable_claims.claims.clauses import Clause
    from executable_claims.claims.comparison import beside
    from executable_claims.claims.verdict import Variant, Verdict, verify_all
    from executable_claims.claims.verify import ClaimFailed, verify

__all__ = ["ClaimFailed", "Clause", "Variant", "Verdict", "beside", "verify", "verify_all"]
HOMES = {"Clause": "clauses", "beside": "comparison", "ClaimFailed": "verify", "verify": "verify"}


def __getattr__(name: str) -> object:
    """Return what is asked for, which brings NumPy: pytest, which loads the plugin, need not have it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"executable_claims.claims.{HOMES.get(name, 'verdict')}"), name)
