"""Executable claims: a ledger of what papers claim, and checks that decide it and could have failed."""

from executable_claims.ledger import find_claim, read_ledger
from executable_claims.verify import ClaimFailed, Variant, Verdict, Verdicts, verify, verify_all

__all__ = [
    "ClaimFailed",
    "Variant",
    "Verdict",
    "Verdicts",
    "find_claim",
    "read_ledger",
    "verify",
    "verify_all",
]
