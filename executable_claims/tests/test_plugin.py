"""What chapters say is compared by claim; those that take too long fail, whatever else the machine does."""

import json
import subprocess
import sys
from dataclasses import replace
from math import inf

import pytest

from executable_claims import Variant, verify
from executable_claims.claims.configuration import Book, find_book
from executable_claims.claims.processor import kernels, slowness
from executable_claims.run.chapters import executed, mistakes
from executable_claims.run.plugin import check_seconds, compared, differences, movements, processor_seconds
from executable_claims.run.recorded import NOTHING, read_record, record_of, write_record

CLAIM = "may1976-ours-exponent"

BUSY = "import time\nwhile time.process_time() < 1: pass"
CHILD = f"import subprocess, sys; command = [sys.executable, '-c', {BUSY!r} + '\\ninput()']"

UNTIL_BUSY = (
    "import psutil, time\nwhile sum(psutil.Process(child.pid).cpu_times()[:2]) < 0.95: time.sleep(0.05)"
)


@pytest.mark.parametrize(
    ("program", "low", "high"),
    [
        (BUSY, 0.9, 1.9),
        ("import time; time.sleep(1)", 0.0, 0.9),
        (f"{CHILD}; subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)", 0.9, 1.9),
        (f"{CHILD}; child = subprocess.Popen(command, stdin=subprocess.PIPE)\n{UNTIL_BUSY}", 0.9, 1.9),
    ],
    ids=["busy", "asleep", "child that has ended", "child that still runs"],
)
def test_the_time_is_that_of_the_processor_and_counts_children(program, low, high):
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}\nprint('done', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "done\n"
        assert low <= processor_seconds(process.pid) <= high
        process.kill()


@pytest.mark.parametrize("page", ["part/short", "part/long"])
def test_a_page_may_take_its_time_and_no_more(tmp_path, page):
    book = Book(tmp_path, seconds=30.0, longer={"part/long": 100.0})
    allowed = {"part/short": 30.0, "part/long": 100.0}[page]
    for slow in (1.0, 2.5):
        check_seconds(book, page, 0.99 * allowed * slow, slow)
        with pytest.raises(pytest.fail.Exception, match=rf"{page} took .* allowed: {allowed:g} s"):
            check_seconds(book, page, 1.01 * allowed * slow, slow)


def test_a_processor_that_others_use_too_is_not_called_faster():
    program = "from executable_claims.claims.processor import slowness; print(slowness())"
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        busy = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
        other.kill()
    assert float(busy) > 0.5 * slowness() > 0


def test_a_page_that_may_take_longer_is_there(in_demo):
    book = replace(find_book(), longer={"logistic_map/two_cycle": 60.0, "logistic_map/two_cycles": 60.0})
    assert [text for _, text in mistakes(book)] == [
        "logistic_map/two_cycles may take longer, allowed: the name of a page that is executed"
    ]


# What is compared


def outputs(measured=1.0, because="it is a test"):
    """The outputs of a cell that decides a claim."""
    control = Variant("twice", predicted=2.0)
    bundle = verify(
        CLAIM, measured=measured, predicted=1.0, atol=0.1, because=because, control=control
    )._repr_mimebundle_()
    return [{"output_type": "execute_result", "data": bundle}]


def told(known, *given, shifted=False):
    """What differs too much, and which claims are in the table."""
    cell = outputs(*given)
    return differences(known, cell, shifted), [row[:2] for row in movements(known, cell)]


@pytest.mark.usefixtures("in_demo")
def test_a_claim_is_found_by_its_id_and_fails_only_if_it_moved_too_far(tmp_path):
    printed = [{"output_type": "stream", "name": "stdout", "text": "text\n"}]
    write_record(tmp_path / "part" / "page.json", record_of([printed, outputs()]))
    known = read_record(tmp_path / "part" / "page.json")
    assert known["printed"] == ["text"] and known["kernels"] == kernels()
    assert told(known) == ([], [])
    assert told(known, 1.04) == ([], [[CLAIM, pytest.approx(0.4)]])
    [words], [[_, by]] = told(known, 1.08)
    assert words.startswith(f"{CLAIM}: ") and "may by 0.5" in words and by == pytest.approx(0.8)
    for other in ({"openblas": "Nehalem"}, {}):
        assert told(known | {"kernels": other}, 1.08) == ([], [[CLAIM, pytest.approx(0.8)]])
    [words], _ = told(known, 1.0, "it is another")
    assert "its text is another one" in words and "it is another" in words
    assert told(known, 1.0, "it is another", shifted=True)[0] == []
    [words], _ = told(NOTHING)
    assert words == f"{CLAIM}: nothing is recorded of it; run: pytest --record"


def test_what_was_drawn_over_may_round_otherwise_on_other_kernels():
    texts = [
        [f"verified: a-law, {word} 3", f"  drawn: {word} 3, rho {low} to 1.4e-05 (4 values)"]
        for word, low in (("width", 10.1), ("width", 10.2), ("height", 10.1))
    ]
    same, other = ([compared(text, False, here) for text in texts] for here in (True, False))
    assert same[0] != same[1] and other[0] == other[1] != other[2]
    assert compared(texts[0], True, False) == texts[0][:1]


@pytest.mark.usefixtures("in_demo")
def test_of_several_claims_in_a_cell_each_is_compared_whatever_is_said_of_the_others():
    """In any order, and where of one nothing is recorded, the words are those of each claim alone."""
    theory, control = {"predicted": 1.0, "atol": 0.1}, Variant("twice", predicted=2.0)
    two_cycle = verify(
        "may1976-two-cycle", measured=1.0, **theory, because="it is a test", control=control, printed=control
    )
    other = [{"output_type": "execute_result", "data": two_cycle._repr_mimebundle_()}]
    for known in (NOTHING, record_of([outputs(1.08)]), record_of([other]), record_of([other, outputs(1.08)])):
        alone = [differences(known, cell, shifted=False) for cell in (other, outputs())]
        assert differences(known, other + outputs(), shifted=False) == alone[0] + alone[1]
        assert differences(known, outputs() + other, shifted=False) == alone[1] + alone[0]


@pytest.mark.usefixtures("in_demo")
def test_a_record_of_unknown_kernels_only_informs_and_one_of_no_page_is_empty(tmp_path):
    known = record_of([outputs()])
    entry = known["claims"][CLAIM]
    bound = {name: value for name, value in entry.items() if name != "predicted"} | {"at_most": 5.0}
    changed = {"kernels": {}, "claims": {CLAIM: bound}}
    assert told(NOTHING | changed) == ([], [[CLAIM, inf]])
    assert told(NOTHING | changed | {"kernels": kernels()})[0]
    assert read_record(tmp_path / "none.json") == NOTHING


def test_an_edit_that_changes_nothing_passes_and_the_run_ends_with_what_moved(demo):
    page = demo / "book" / "logistic_map" / "two_cycle.md"
    page.write_text(page.read_text().replace("rtol=1e-12", "rtol=1.0e-12").replace("orbit(", "orbit( "))
    path = demo / "recorded" / "logistic_map" / "two_cycle.json"
    record = json.loads(path.read_text())
    entry = record["claims"]["may1976-two-cycle"]
    entry["quartiles"] = [entry["measured"] + 0.3 * entry["tolerance"]] * 5
    path.write_text(json.dumps(record))
    command = [sys.executable, "-m", "pytest", "-q", page]
    output = subprocess.run(command, capture_output=True, text=True, timeout=200).stdout
    assert " passed" in output and "failed" not in output, output
    assert "moved since the record" in output and output.count("0.3  may1976-two-cycle: ") == 1, output


def test_a_book_is_found_from_a_folder_of_it_and_its_settings_are_checked(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.executable-claims]\nseconds = 5\nmodules = [".", "x"]\n')
    (tmp_path / "book" / "part").mkdir(parents=True)
    book = find_book(tmp_path / "book" / "part")
    assert (book.root, book.seconds, book.modules) == (tmp_path, 5, [".", "x"])
    assert book.folder("ledger") == tmp_path / "book" / "claims"
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.executable-claims]\ncolour = 1\n")
    with pytest.raises(ValueError, match="has colour; allowed: attacks, by_name"):
        find_book(other)
    with pytest.raises(ValueError, match="allowed: one in a book"):
        find_book(tmp_path.parent)


def test_copies_that_an_editor_keeps_are_no_pages(demo):
    before = executed(find_book(demo))
    copies = demo / "book" / "logistic_map" / ".ipynb_checkpoints"
    copies.mkdir()
    (copies / "chaos-checkpoint.md").write_text((copies.parent / "chaos.md").read_text())
    assert executed(find_book(demo)) == before and len(before) == 2
