"""Each comparison in interleaved rounds, least time of each way, with the accuracy of both checked."""

from __future__ import annotations

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import growth, solvers
from benchmarks.measure import find_comparison, peak_memory

ROUNDS = 12
COMPARISONS = (
    "two_points.by_closed_form",
    "two_points.by_flow",
    "two_points.by_loose_flow",
    "responses.three_kinds",
    "scales.tiny",
    "training.ten_seeds",
    "alignment.ten_thousand",
    "inverse.million",
)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(benchmark: BenchmarkFixture, name: str) -> None:
    item = find_comparison(name)
    seconds, results = [], {"rounds": 0}

    def plain_now_and_then() -> None:
        # Between the rounds of ours, so that both see the same load of the machine.
        if results["rounds"] % (ROUNDS // item.plain_rounds) == 0:
            start = time.perf_counter()
            results["plain"] = item.plain()
            seconds.append(time.perf_counter() - start)
        results["rounds"] += 1

    result = benchmark.pedantic(
        item.ours, setup=plain_now_and_then, rounds=ROUNDS, iterations=1, warmup_rounds=1
    )
    errors = {"ours": item.error(result), "plain": item.error(results["plain"])}
    assert errors["ours"] <= max(errors["plain"], item.sound)
    ours, plain = benchmark.stats.stats.min, min(seconds) / item.share
    memory = {way: peak_memory(f"{name}.{way}") for way in ("ours", "plain")}
    benchmark.extra_info.update(
        name=name.split(".")[1],
        title=item.title,
        plain_title=item.plain_title,
        goal=item.goal,
        met=bool(plain / ours >= item.needed if item.by == "ratio" else ours < item.needed),
        seconds={"ours": ours, "plain": plain},
        ratio=plain / ours,
        share=item.share,
        peak_mib={way: value["peak"] for way, value in memory.items()},
        imports_mib=memory["ours"]["imports"],
        error=errors,
        error_of=item.error_of,
    )


def test_growth(benchmark: BenchmarkFixture) -> None:
    table = benchmark.pedantic(growth.measure, args=(3,), rounds=1)
    memory = {axis: peak_memory(f"growth.largest.{axis}")["peak"] for axis in ("n", "m", "d")}
    benchmark.extra_info.update(growth=table, growth_peak_mib=memory)


def test_solvers(benchmark: BenchmarkFixture) -> None:
    table = benchmark.pedantic(solvers.measure, args=(7,), rounds=1)
    benchmark.extra_info.update(solvers=table)
