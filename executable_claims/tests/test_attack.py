"""Attacks on a made-up book of one chapter."""

import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from executable_claims.claims.configuration import find_book
from executable_claims.run import attack as attacks
from executable_claims.run import seeds
from executable_claims.run.attack import attack, closed, main, with_change
from executable_claims.run.changes import Change, read_chapter
from executable_claims.run.dependencies import key as dependency_key
from executable_claims.run.results import change_result, code_key, read_results
from executable_claims.run.seeds import main as draw_anew

RESULTS = Path("results/attacks.json")
TABLE = '[tool.executable-claims]\nrecorded = "recorded"\n'
LEDGER = """paper: {key: made2000, title: T, authors: A, year: 2000, arxiv: "none"}
claims: [{id: made2000-law, place: Equation 1, about: Equation 1, kind: identity, expected: verified,
  shown: proved, in_words: The law is what is measured on two points., statement: The law holds.}]
errata: []
remarks: []
"""
HEAD = "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n---\n# A page\n\n"
CHECK = """verify("made2000-law", measured=measured, predicted=law(x), rtol=RTOL, because="rounding",
       control=Variant("nothing", predicted=0 * x - 9))"""
SQUARES = f"""import numpy as np
from executable_claims import Variant, verify
from theory import doubled

RTOL = 1e-9
x = np.array([1.0, 2.0])


def law(x):
    return 3 * x**2 + doubled(x)


measured = x * x * 3 + 2 * x
{CHECK}"""
LAW = "3 * x ** 2 + doubled(x)"
SAY = """from IPython.display import display


def say(**values):
    for name, value in values.items():
        data = {"application/papermill.record/text/plain": str(value)}
        display(data, metadata={"scrapbook": {"name": name}}, raw=True)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the chapter; its book is the current one."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "book/part/page.md"
    for folder in ("book/claims", "book/part"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(TABLE)
    (tmp_path / "book/claims/made2000.yml").write_text(LEDGER)
    (tmp_path / "theory.py").write_text("def doubled(x):\n    return 2.0 * x\n")
    (tmp_path / "prose.py").write_text(SAY)

    def written(code):
        page.write_text(f"{HEAD}```{{code-cell}} python3\n{code}\n```\n")
        return page

    return written


def attacked(*options):
    with pytest.raises(SystemExit) as end:
        main(["part/page", *options])
    return end.value.code, json.loads(RESULTS.read_text())["part/page"]


def test_what_is_measured_sharply_is_noticed_whatever_is_changed(write):
    page = write(SQUARES)
    texts = "\n".join(read_chapter(find_book(), page)[1])
    afters = "3.15 * x ** 2, 3 / x ** 2, x ** 2.1, x ** (2 / 2), 3 * x ** 2 - doubled(x), 1.05 * law(...)"
    assert all(f"-> {after}" in texts for after in afters.split(", "))
    code, entry = attacked()
    assert code == 0 and entry["survivors"] == [] and "partial" not in entry
    assert entry["noticed"] == entry["changes"] == entry["refused"]["made2000-law"] > 8


def test_a_survivor_is_listed_with_how_far_it_moves_and_keeps_its_reason(write, capsys):
    write(SQUARES.replace("1e-9", "0.03"))
    survivors = attacked()[1]["survivors"]
    assert {survivor["before"]: survivor["moves"] for survivor in survivors}[
        "doubled(...)"
    ] == "predicted of made2000-law by 0.2 of 16"
    survivors[0]["reason"] = "it is small"
    assert survivors[0]["place"] == "cell 1, line 3"
    results = json.loads(RESULTS.read_text())
    results["part/page"]["survivors"] = survivors
    RESULTS.write_text(json.dumps(results))
    write("y = 0\n" + SQUARES.replace("1e-9", "0.03"))
    again = attacked()[1]["survivors"]
    assert again[0] == {**survivors[0], "place": "cell 1, line 4"}
    assert "1 of them with a reason" in capsys.readouterr().out


def test_settings_drawings_and_what_is_measured_are_not_attacked(write):
    page = write(
        "steps = 2 * 17\nz = np.linspace(0, 3 * 19, 5)\n" + SQUARES.replace("rtol=RTOL", "rtol=RTOL * 23")
    )
    before = {re.split(": | -> ", one)[1] for one in read_chapter(find_book(), page)[1]}
    assert before == {LAW, "3 * x ** 2", "x ** 2", "law(...)", "doubled(...)"}


def test_a_target_that_no_arithmetic_makes_is_changed_and_one_that_is_typed_is_not_attacked(write, capfd):
    code = SQUARES.replace("predicted=law(x)", "predicted=np.log(2)").replace("x * x * 3 + 2 * x", "0.7")
    write(code.replace("1e-9", "0.02").replace("0 * x", "0"))
    entry = attacked()[1]
    assert (entry["changes"], entry["noticed"]) == (1, 1)
    write(code.replace("1e-9", "0.02").replace("0 * x", "0").replace("np.log(2)", "0.7"))
    with pytest.raises(SystemExit, match="True"):
        main(["part/page"])
    assert "part/page has nothing to change" in capfd.readouterr().out


def test_what_a_chapter_asserts_is_noticed_too(write):
    write(SQUARES.replace("1e-9", "0.03") + "\nassert np.allclose(law(x), measured)")
    entry = attacked()[1]
    assert entry["survived"] == 0 and entry["noticed"] > 8


def test_what_no_target_moves_with_is_not_counted(write):
    write(SQUARES.replace("doubled(x)\n", "doubled(x) + 0 * x\n"))
    entry = attacked()[1]
    assert entry["moves_nothing"] > 0 and entry["noticed"] + entry["moves_nothing"] == entry["changes"]


def test_a_chapter_that_was_interrupted_goes_on_and_one_that_is_done_is_not_run(write, monkeypatch):
    page = write(SQUARES)
    _, whole = attacked()
    monkeypatch.setattr("executable_claims.run.attack.outcomes", None)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    assert attack(find_book(), "part/page", page, 9999).endswith("0 survived, 0 of them with a reason")
    finished = {
        text: {"outcome": "noticed", "claim": "made2000-law"} for text in read_chapter(find_book(), page)[1]
    }
    last = finished.popitem()
    partial = {"part/page": {"partial": {"key": whole["key"], "finished": finished}}}
    RESULTS.write_text(json.dumps(partial))
    asked = []
    monkeypatch.setattr(
        "executable_claims.run.attack.outcomes", lambda _, __, done: [asked.append(done) or last]
    )
    attack(find_book(), "part/page", page, 9999)
    assert asked == [set(finished)]
    assert json.loads(RESULTS.read_text())["part/page"] == whole


def test_two_runs_at_once_lose_nothing_of_each_other():
    changes = dict.fromkeys(("one", "other"), Change({"before": "1", "after": "2"}, 0, None))
    noticed, entry = {"outcome": "noticed", "claim": "a-law"}, {"survivors": []}
    for text in ("one", "other", "one"):
        entry = with_change(entry, "key", text, noticed)
    whole = closed(entry, "key", changes, [*changes], {})
    assert whole["noticed"] == whole["changes"] == whole["refused"]["a-law"] == 2
    assert closed(with_change(whole, "key", "other", noticed), "key", changes, [*changes], {}) == whole


def test_a_sample_of_the_changes_is_tried_and_a_larger_one_after_it(write):
    write(SQUARES)
    few = attacked("--sample", "3")[1]
    assert few["tried"] == few["noticed"] == 3 < few["changes"]
    assert attacked("--sample", "2")[1] == few
    tried = few["changes"]
    assert attacked()[1] == {**few, "tried": tried, "noticed": tried, "refused": {"made2000-law": tried}}


def test_a_smaller_sample_of_other_code_keeps_the_reasons_of_what_it_leaves_out():
    changes = {text: Change({"before": text, "after": "2"}, 0, None) for text in ("one", "other")}
    outcome = {"outcome": "survived", "moves": "a by 1 of 2"}
    reasons = [{"before": text, "after": "2", "reason": f"{text} is small"} for text in changes]
    few = closed(with_change({"survivors": reasons}, "a", "one", outcome), "a", changes, ["one"], {})
    assert [each["reason"] for each in few["survivors"] + few["reasons"]] == [
        "one is small",
        "other is small",
    ]
    for text in changes:
        few = with_change(few, "b", text, outcome)
    whole = closed(few, "b", changes, [*changes], {})
    assert [each["reason"] for each in whole["survivors"]] == ["one is small", "other is small"]
    assert "reasons" not in whole


def test_a_reason_excuses_the_same_words_elsewhere_only_if_they_move_the_same():
    places = {"before": "0", "after": "1"}
    changes = {text: Change({"place": text, **places}, 0, None) for text in ("here", "there", "last")}
    moves = {"here": "measured of a-law by 0.1 of 2", "there": "measured of a-fit by 0.1 of 2"}
    reasons = [{**places, "place": "before", "moves": "measured of a-law by 3 of 4", "reason": "both ends"}]
    entry = {"survivors": reasons}
    for text, moved in moves.items():
        entry = with_change(entry, "a", text, {"outcome": "survived", "moves": moved})
    some = closed(entry, "a", changes, ["here", "there"], {})
    assert [each["reason"] for each in some["survivors"]] == ["both ends", ""] and "reasons" not in some
    less = closed(entry, "a", changes, ["there"], {})
    assert [each["reason"] for each in less["survivors"]] == [""] and less["reasons"] == reasons


READING = """import numpy as np
from executable_claims import Variant, verify


def weights_at(time):
    return np.exp(time) * np.array([1.0, 1.1])


def law(time):
    return np.exp(1.0 * time)


end = 2.0
measured = weights_at(end)[0]
""" + CHECK.replace("0 * x - 9", "-9")


def test_what_measures_is_misread_and_counted_apart(write, capsys):
    write(READING.replace("law(x)", "law(2.0)").replace("RTOL", "1e-9"))
    sharp = attacked()[1]["measuring"]
    assert sharp["noticed"] == sharp["changes"] == sharp["refused"]["made2000-law"] == 4
    bound = READING.replace("predicted=law(x), rtol=RTOL", "at_most=5 * law(2.0)")
    write(bound.replace("predicted=-9", "at_most=-9.0"))
    survivors = attacked()[1]["measuring"]["survivors"]
    assert {survivor["after"] for survivor in survivors} == {"0.0 * end", "0.8 * end", "1.25 * end", "1"}
    assert "part/page, what measures, cell 1, line 14: end -> 0.8 * end" in capsys.readouterr().out


MODULE = """from __future__ import annotations

import numpy as np

from small.common import squared

GAIN = 3.0
OTHER = 5 * 7


def law(x: np.ndarray) -> Never:
    \"\"\"The law.\"\"\"
    return GAIN * squared(x) + 2 * x


def read(run):
    return run[:, 0] * 1.0


def unused(x):
    return 11 * x
"""
PAGE = f"""import numpy as np
from executable_claims import Variant, verify
from small.part import law, read

RTOL = 1e-9
GAIN = "another thing than that of the module"
x = np.array([1.0, 2.0])
measured = read(np.array([x * x * 3 + 2 * x, x]).T)
{CHECK}"""


@pytest.fixture
def write_with_module(write):
    """Writes a chapter that imports from a module that is read with it."""
    Path("pyproject.toml").write_text(TABLE + 'inlined = ["small"]\n')
    Path("small").mkdir()
    Path("small/common.py").write_text(
        "def squared(x):\n    return x**2\n\n\ndef cubed(x):\n    return x**3\n"
    )
    Path("small/part.py").write_text(MODULE)
    return write


def test_an_attack_follows_a_chapter_into_the_modules_that_are_read_with_it(write_with_module):
    page = write_with_module(PAGE)
    changes = read_chapter(find_book(), page)[1]
    words = {(one.words["place"], one.words["before"]) for one in changes.values()}
    assert ("small/part.py, line 13", "GAIN * squared(x)") in words
    assert ("small/common.py, line 2", "x ** 2") in words and ("small/part.py, line 17", "0") in words
    assert not {before for _, before in words if "7" in before or "11" in before or "x ** 3" in before}
    entry = attacked()[1]
    assert entry["noticed"] == entry["changes"] > 8
    assert entry["measuring"]["noticed"] == entry["measuring"]["changes"] == 1
    write_with_module(PAGE.replace("1e-9", "0.03"))
    places = {survivor["before"]: survivor["place"] for survivor in attacked()[1]["survivors"]}
    assert places["2 * x"] == "small/part.py, line 13"


def test_what_a_module_that_is_read_with_a_chapter_measures_survives_under_a_wide_bound(write_with_module):
    wide = PAGE.replace("predicted=law(x), rtol=RTOL", "at_least=law(x) - 100")
    write_with_module(wide.replace("predicted=0 * x - 9", "at_least=0 * x + 99"))
    [survivor] = attacked()[1]["measuring"]["survivors"]
    assert (survivor["place"], survivor["after"]) == ("small/part.py, line 17", "1")


def test_a_change_in_a_module_that_is_read_with_a_chapter_is_other_code(write_with_module):
    page, part = write_with_module(PAGE), Path("small/part.py")
    before = code_key(find_book(), page), dependency_key(page, find_book())
    part.write_text(MODULE.replace("2 * x", "2.0 * x").replace("GAIN = 3.0", "GAIN = 3"))
    after = code_key(find_book(), page), dependency_key(page, find_book())
    assert before[0] != after[0] and before[1] != after[1]
    part.write_text(MODULE.replace("11 * x", "12 * x"))
    assert (code_key(find_book(), page), dependency_key(page, find_book())) == before


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("from small.part import law as theory", "cell 1, line 1: from small.part import law as theory"),
        (
            "from small.part import *",
            "allowed of a module that is read with its chapter: from small.<module>",
        ),
        ("from small import part", "cell 1, line 1: from small import part"),
        ("import small.part", "cell 1, line 1: import small.part"),
        ("if True:\n    from small.part import law", "cell 1, line 2: from small.part import law"),
        ("from small.missing import law", "there is no module small.missing"),
    ],
)
def test_a_module_that_is_read_with_a_chapter_is_imported_in_one_form(write_with_module, code, wrong):
    page = write_with_module(code)
    with pytest.raises(ValueError, match=re.escape(wrong)):
        read_chapter(find_book(), page)


def count(entry, number):
    return {"found": sorted({*entry.get("found", ()), number})}


def test_results_are_added_one_process_after_the_other(tmp_path):
    path = tmp_path / "results" / "found.json"
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        for run in [pool.submit(change_result, path, "part/page", count, k) for k in range(60)]:
            run.result()
    assert read_results(path) == {"part/page": {"found": [*range(60)]}}


def test_a_shift_is_run_once_for_a_state_of_the_code(write, capsys):
    seeded = "import os\n" + SQUARES.replace("* 3 + 2", "* 3 + (2 + (os.environ['BOOK_SEED'] == '7'))")
    write(seeded + "\nwith open('ran', 'a') as file:\n    _ = file.write(os.environ['BOOK_SEED'] + ' ')")
    for _ in range(2):
        with pytest.raises(SystemExit, match="True"):
            draw_anew(["part/page"])
        assert "part/page fails with BOOK_SEED=7" in capsys.readouterr().out
    ran = Path("book/part/ran")
    assert ran.read_text().split() == [str(k) for k in range(1, 21) if k != 7]
    write(SQUARES)
    with pytest.raises(SystemExit, match="False"):
        draw_anew(["part/page"])
    assert "no verdict changed under 20 shifts" in capsys.readouterr().out


def test_where_processes_do_not_fork_each_shift_begins_anew_and_an_attack_says_what_it_asks_for(
    write, monkeypatch
):
    page = write("import os\n" + SQUARES.replace("* 3 + 2", "* 3 + (2 + (os.environ['BOOK_SEED'] == '7'))"))
    for module in (seeds, attacks):
        monkeypatch.setattr(module, "FORKS", False)
    (_, passed), (_, failed) = seeds.failures(find_book(), page, [1, 7])
    assert passed == "" and failed.startswith("ClaimFailed: made2000-law")
    with pytest.raises(ValueError, match="asks for a system with fork"):
        attack(find_book(), "part/page", page, 3)


def test_what_a_module_of_the_book_draws_when_it_is_imported_is_shifted_too(write, capsys):
    Path("lucky.py").write_text("import os\n\nOFF = os.environ['BOOK_SEED'] == '7'\n")
    write("from lucky import OFF\n" + SQUARES.replace("* 3 + 2", "* 3 + (2 + OFF)"))
    with pytest.raises(SystemExit, match="True"):
        draw_anew(["part/page"])
    assert "part/page fails with BOOK_SEED=7 ClaimFailed" in capsys.readouterr().out


def test_a_change_without_end_is_no_notice(write, capfd):
    law = "def law(x):\n    y = x.max()\n    while y >= 1:\n        y = y / 2\n    return y + 0 * x\n\n\n"
    endless = f"{law}measured = [0.5]"
    head = SQUARES.partition("def law")[0]
    write(f"{head}\n{endless}\n{CHECK}".replace("array([1.0, 2.0])", "array([1.0])"))
    code, entry = attacked()
    assert code == 0 and entry["crashed"] == 1 and entry["noticed"] > 2
    assert "y / 2 -> y * 2\n    crashed: no end in 2 s" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("picked", "error"),
    [
        (
            "float({2: 5.0}.get(int(x[0] + 1), 'no'))",
            "cell 1: ValueError: could not convert string to float: 'no'",
        ),
        ("{2: 5.0}.get(int(x[0] + 1)) or os.kill(os.getpid(), 9)", "a crash by signal 9"),
    ],
)
def test_a_crash_is_no_notice_and_is_counted_apart(write, capfd, picked, error):
    write(f"{SQUARES}\nimport os\nfrom prose import say\nsay(picked={picked})")
    code, entry = attacked()
    assert code == 0 and (entry["crashed"], entry["moves_nothing"], entry["survived"]) == (2, 1, 0)
    assert f"x[0] + 1 -> x[0] - 1\n    crashed: {error}" in capfd.readouterr().out


def test_what_moves_only_a_value_that_is_said_survives(write):
    write(f"{SQUARES}\nfrom prose import say\nsay(third=7 * x[1], word='seven')")
    entry = attacked()[1]
    assert {survivor["moves"] for survivor in entry["survivors"]} == {
        "said third by 0.7 of 14",
        "said third by 10 of 14",
        "said third by 7 of 14",
    }
    assert entry["refused"] == {"made2000-law": entry["noticed"]}
    unreached = ["third (cell 1, line 17: a formula of typed numbers)"]
    assert entry["coverage"] == {"said": 2, "unreached": unreached, "curves": 0, "curves_unreached": 0}


def test_what_moves_only_a_curve_survives(write):
    drawing = "import matplotlib.pyplot as plt\nfig, axes = plt.subplots()\naxes.{}\nplt.show()"
    write(f"{SQUARES}\n{drawing.format('plot(x, 7 * x)')}")
    moves = {survivor["after"]: survivor["moves"] for survivor in attacked()[1]["survivors"]}
    assert moves["7.35 * x"] == "curve 1, column 2 of the figure of cell 1 by 0.7 of 14"
    write(f"{SQUARES}\n{drawing.format('plot([0.5] * int(7 * x[1]))')}")
    moves = {survivor["after"]: survivor["moves"] for survivor in attacked()[1]["survivors"]}
    assert moves["7 / x[1]"].startswith("curve 1, column 1 of the figure of cell 1 in another shape")


@pytest.mark.parametrize(
    "shown", ["say(third={}[1])", "import matplotlib.pyplot as plt\nplt.subplots()[1].plot(x, {})"]
)
def test_a_value_and_a_curve_beside_their_law_are_guarded(write, capfd, shown):
    both = "beside(7 * x, np.array([7.0, 14.0]), rtol=0.01)"
    write(f"{SQUARES}\nfrom executable_claims import beside\nfrom prose import say\n{shown.format(both)}")
    entry = attacked()[1]
    assert (entry["survived"], entry["crashed"]) == (0, 0) and entry["refused"]["beside"] >= 3
    assert "noticed: cell 1: beside its law: measured " in capfd.readouterr().out


def test_a_chapter_that_fails_as_it_is_is_said(write, capfd):
    write(SQUARES.replace("* 3 + 2", "* 4 + 2"))
    with pytest.raises(SystemExit, match="True"):
        main(["part/page"])
    assert "part/page fails as it is: Refusal: made2000-law" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ('{\n "part/page": {\n<<<<<<< HEAD\n  "key": "1"\n }\n}', ":3: Expecting property name"),
        ('{\n "part/page": {"key": "1"}\n', ":3: Expecting ',' delimiter"),
        ("[]", ":1: is a list, allowed: an object"),
        ("", ":1: Expecting value"),
    ],
)
def test_results_that_are_broken_are_named_once_with_their_line_and_stay(write, capsys, content, wrong):
    write(SQUARES)
    for run, path in ((main, RESULTS), (draw_anew, RESULTS.with_name("seeds.json"))):
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        with pytest.raises(SystemExit):
            run([])
        assert capsys.readouterr().err.count(f"{path}{wrong}") == 1 and path.read_text() == content


def test_an_unknown_chapter_is_refused_with_the_nearest(write, capsys):
    write(SQUARES)
    with pytest.raises(SystemExit):
        main(["part/pages"])
    assert (
        "chapters has 'part/pages', allowed: a chapter of the book; nearest: part/page"
        in capsys.readouterr().err
    )
