"""Whether clusters split on a hard pair of digits, by the slope [sarussi2021, App. D.2]; not in the paper."""

from __future__ import annotations

from dataclasses import replace

from lib.experiments.registry import Experiment, register
from lib.experiments.sarussi2021 import DigitPairs, fingerprint_of, run_digit_pairs

SLOPES = (0.1, 0.3, 0.6, 0.9)
"""Leaky slopes that are recorded, each as a variant."""

_HARD = DigitPairs(pairs=((5, 8),), settings=("small-start",), epochs=60, points=8)
register(
    Experiment(
        "sarussi2021-slopes",
        "Clusters on the digits 5 and 8 from a small start, by slope",
        full=_HARD,
        quick=replace(_HARD, images="digits", step=0.02, epochs=10, points=4),
        run=run_digit_pairs,
        fingerprint_of=fingerprint_of,
        devices=("cpu",),
        variants={f"test-split-{slope}": replace(_HARD, images="test", slope=slope) for slope in SLOPES},
    )
)
