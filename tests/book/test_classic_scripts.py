"""A classic script does what its module does."""

import pytest
from classic_scripts import classic, with_classic
from py_mini_racer import MiniRacer
from sphinx.errors import ExtensionError

COUNTER = """export const step = 2;
export class Counter {
  constructor() {
    this.count = 0;
  }
}
const hidden = 5;
export function raised(counter) {
  counter.count += step;
  return counter.count + hidden;
}
"""
SHARED = 'import { Counter } from "./counter.js";\nexport const shared = new Counter();\n'
ENTRY = """import { raised as up, step } from "./counter.js";
import { shared } from "./shared.js";
const hidden = 100;
up(shared);
globalThis.found = [up(shared), step, hidden];
"""


@pytest.fixture
def folder(tmp_path):
    for name, source in (("counter", COUNTER), ("shared", SHARED), ("entry", ENTRY)):
        (tmp_path / f"{name}.js").write_text(source)
    return tmp_path


def test_a_classic_script_runs_its_module_and_what_it_imports_once(folder):
    engine = MiniRacer()
    engine.eval(classic(folder / "entry.js"))
    assert engine.eval("found.join()") == "9,2,100"
    assert engine.eval("[typeof shared, typeof hidden].join()") == "undefined,undefined"


@pytest.mark.parametrize(
    "line", ['import * as all from "./counter.js";', "export default 3;", 'import three from "three";']
)
def test_what_the_bundler_does_not_know_it_refuses(folder, line):
    (folder / "entry.js").write_text(f"{line}\n")
    with pytest.raises(ExtensionError, match="no classic script"):
        classic(folder / "entry.js")


FRAME = '<div class="live-figure" data-plays="k=2" data-live="clock" data-parameters="{}">Live.</div>'
ASKED = '<script type="module" src="../_static/switch.js"></script>'


def test_a_page_has_classic_scripts_after_its_frames_and_where_it_asks_for_modules():
    body = with_classic(
        f"<p>{FRAME}{ASKED}</p>", "page", {"_static/live/clock", "_static/switch"}, "/{}".format
    )
    scripts = [f'<script src="/_static/{name}.classic.js"></script>' for name in ("live/clock", "switch")]
    assert body == f"<p>{FRAME}{scripts[0]}{scripts[1]}</p>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (FRAME, r"a/page asks for _static/live/clock\.js, allowed: a module of the site"),
        (FRAME.replace("div", "p"), "a/page has a frame or a module that is not written as"),
        (ASKED.replace(" src", " async src"), "a/page has a frame or a module that is not written as"),
    ],
)
def test_what_no_script_can_be_found_for_is_refused(body, message):
    with pytest.raises(ValueError, match=message):
        with_classic(body, "a/page", {"_static/switch"}, "/{}".format)
