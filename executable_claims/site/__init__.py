"""The Sphinx extension: cards, pages of the ledger, and an address for every claim."""

from executable_claims.site.extension import setup

__all__ = ["setup"]
