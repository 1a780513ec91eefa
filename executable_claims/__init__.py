"""Executable claims: a ledger of what papers claim, and checks that decide it and could have failed."""

from executable_claims.claims import ClaimFailed, Clause, Variant, Verdict, beside, verify, verify_all

__all__ = ["ClaimFailed", "Clause", "Variant", "Verdict", "beside", "verify", "verify_all"]
