"""What is claimed and how it is decided: of use without a book, with NumPy alone."""

from executable_claims.claims.clauses import Clause
from executable_claims.claims.comparison import beside
from executable_claims.claims.ledger import Claim, find_claim, read_ledger
from executable_claims.claims.verify import ClaimFailed, Variant, Verdict, verify, verify_all

__all__ = [
    "Claim",
    "ClaimFailed",
    "Clause",
    "Variant",
    "Verdict",
    "beside",
    "find_claim",
    "read_ledger",
    "verify",
    "verify_all",
]
