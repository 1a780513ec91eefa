"""Executable claims: a ledger of what papers claim, and checks that decide it and could have failed."""

from executable_claims.clauses import Clause
from executable_claims.comparison import beside
from executable_claims.verify import ClaimFailed, Variant, Verdict, verify, verify_all

__all__ = ["ClaimFailed", "Clause", "Variant", "Verdict", "beside", "verify", "verify_all"]
