"""The ledger of claims, and how they are decided."""
