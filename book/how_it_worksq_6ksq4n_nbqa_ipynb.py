# %%NBQA-CELL-SEP476b88
import numpy as np
from scipy.special import expit, logit

from executable_claims import ClaimFailed, Variant, verify
from executable_claims.ledger import find_claim


# %%NBQA-CELL-SEP476b88
find_claim("combes2018-tab-1")


# %%NBQA-CELL-SEP476b88
fractions, errors = np.array([0.5, 0.2, 0.1, 0.01]), np.array([[1e-2], [1e-4]])
bound = 100 * expit(fractions * logit(1 - errors))
printed_table = np.array([[91, 71, 61, 51], [99, 86, 72, 52]])


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-tab-1",
    measured=bound,
    predicted=printed_table,
    atol=0.5,
    because="the paper rounds to whole per cent",
    control=Variant(
        "the fraction squared in the exponent",
        measured=100 * expit(fractions**2 * logit(1 - errors)),
        share=1,
    ),
)


# %%NBQA-CELL-SEP476b88
claim = "combes2018-tab-1"
common = dict(
    predicted=printed_table, atol=0.5, because="the paper rounds to whole per cent"
)
wrong = 100 * expit(fractions / 2 * logit(1 - errors))
try:
    verify(
        claim,
        measured=wrong,
        control=Variant("an even worse one", measured=wrong / 2),
        **common,
    )
except ClaimFailed as failure:
    print(failure)


# %%NBQA-CELL-SEP476b88
try:
    verify(
        claim,
        measured=bound,
        control=Variant("a hundredth of a per cent less", measured=bound - 0.01),
        **common,
    )
except ClaimFailed as failure:
    print(failure)


# %%NBQA-CELL-SEP476b88
for broken in (np.where(bound > 90, np.nan, bound), bound[:0], bound[0]):
    try:
        verify(
            claim,
            measured=broken,
            control=Variant("half of it", measured=bound / 2),
            **common,
        )
    except ValueError as refusal:
        print(refusal)


# %%NBQA-CELL-SEP476b88
checks_of_nothing = (
    dict(predicted=bound, control=Variant("half of it", measured=bound / 2)),
    dict(at_most=100, control=Variant("the opposite", at_least=100)),
)
for arguments in checks_of_nothing:
    try:
        verify(claim, measured=bound, because="it must be so", **arguments)
    except ValueError as refusal:
        print(refusal)


# %%NBQA-CELL-SEP476b88
try:
    find_claim("combes2018-table-1")
except ValueError as refusal:
    print(refusal)
