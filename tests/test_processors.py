"""What a record of the experiments says does not depend on the processor: it is repeated with other kernels.

How far the chapters move is found by `make kernels`; that the libraries obey the variables is seen here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executable_claims.claims.processor import features
from executable_claims.run.kernels import OPENBLAS, possible

ROOT = Path(__file__).parents[1]
REPEATED = (
    "tests/experiments/test_records.py::test_a_record_of_the_book_is_good_without_any_files_of_the_reader"
)
USED = """
import json, scipy.linalg, torch
from executable_claims.claims.processor import features, kernels
print(json.dumps([kernels(), features()]))
"""


def python(variables, *arguments):
    """What Python prints for the arguments, with these variables."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stdout[-4000:] + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", possible())
def test_libraries_compute_as_they_are_told(name):
    variables = possible()[name].variables(features(), os.environ)
    used, numpy = json.loads(python(variables, "-c", USED))
    assert set(OPENBLAS) & set(os.environ) or used["openblas"] == variables["OPENBLAS_CORETYPE"]
    assert used["torch"] == variables["ATEN_CPU_CAPABILITY"].upper()
    assert not {*numpy} & {*variables["NPY_DISABLE_CPU_FEATURES"].split(",")}


@pytest.mark.parametrize("name", [*possible()][:1])
def test_records_are_the_same_with_the_oldest_kernels(name):
    python(possible()[name].variables(features(), os.environ), "-m", "pytest", "-q", "-n", "0", REPEATED)
