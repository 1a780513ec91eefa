"""What a record and a verdict say does not depend on the processor: both are repeated with other kernels.

NumPy, OpenBLAS, PyTorch, MKL and oneDNN choose the instructions of their loops by the processor, and so the
order of their sums.  Environment variables let a processor compute as an older one would; its time does not
count.
"""

import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
REPEATED = (
    "tests/experiments/test_records.py::test_a_record_of_the_book_is_good_without_any_files_of_the_reader",
    "book/how_it_works.md",
    "book/sigmoidal_curves/independent_classes.md",
)
# What libraries say of themselves, when the variables are set.
ASKED = """
import json, scipy.linalg, threadpoolctl, torch, numpy as np
pools = threadpoolctl.threadpool_info()
print(json.dumps({
    "openblas": sorted({pool["architecture"] for pool in pools if pool["internal_api"] == "openblas"}),
    "torch": torch.backends.cpu.get_cpu_capability(),
    "numpy": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
}))
"""


@dataclasses.dataclass(frozen=True)
class Kind:
    """The kernels of one generation of processors: NumPy's names for what it has not, and the variables."""

    above: tuple[str, ...]  # how names of NumPy's features begin that later generations have
    variables: Mapping[str, str]


def kind(above, openblas, torch, mkl, onednn):
    names = ("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")
    return Kind(above, dict(zip(names, (openblas, torch, mkl, onednn), strict=True)))


LATEST = ("AVX512", "X86_V4")
KINDS = {
    # Everything that is not part of NumPy's baseline.
    "SSE4": kind(("",), "Nehalem", "default", "COMPATIBLE", "SSE41"),
    "AVX2": kind(LATEST, "Haswell", "avx2", "AVX2", "AVX2"),
    "AVX-512": kind((), "SkylakeX", "avx512", "AVX512", "AVX512_CORE"),
}
NEEDED = {"SSE4": (), "AVX2": ("AVX2", "X86_V3"), "AVX-512": ("AVX512_SKX", "X86_V4")}


def features():
    """What this processor has, and NumPy's loops would use, in NumPy's names."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def python(environment, *arguments):
    """What Python gives for the arguments, with these variables."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", KINDS)
def test_records_and_verdicts_are_the_same_with_the_kernels_of(name):
    if platform.machine() not in ("x86_64", "AMD64") or (
        NEEDED[name] and not {*NEEDED[name]} & {*features()}
    ):
        pytest.skip(f"this processor has no {name}")
    chosen = KINDS[name]
    # NumPy refuses to start without a feature that the processor lacks anyway, or that it always needs.
    without = [feature for feature in features() if feature.startswith(chosen.above)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"OMP_NUM_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": ",".join(without), **chosen.variables}

    asked = python(environment, "-c", ASKED)
    assert not asked.returncode, asked.stderr
    used = json.loads(asked.stdout)
    assert used["openblas"] == [chosen.variables["OPENBLAS_CORETYPE"]]
    assert used["torch"] == chosen.variables["ATEN_CPU_CAPABILITY"].upper()
    assert not {*used["numpy"]} & {*without}

    repeated = python(environment, "-m", "pytest", "-q", "-n", "0", "-k", "not time", *REPEATED)
    assert not repeated.returncode, repeated.stdout[-4000:] + repeated.stderr
