"""The site's scripts without a browser: modules in V8, and a page that keeps what is set in it."""

import atexit
import functools
import json
import re
from pathlib import Path

from classic_scripts import classic
from py_mini_racer import MiniRacer

STATIC = Path(__file__).parents[2] / "book" / "_static"
# A page without a screen: each of its things has any property and can be called, and keeps what is set.
PAGE = """
const thing = () => new Proxy(function () {}, {
  get: (all, key) => {
    if (key === Symbol.toPrimitive) return () => 340;
    if (key === Symbol.iterator) return function* () {};
    return Object.hasOwn(all, key) && all[key] !== undefined ? all[key] : (all[key] = thing());
  },
  set: (all, key, value) => { all[key] = value; return true; },
  apply: () => thing(),
});
Object.assign(globalThis, { document: thing(), matchMedia: thing(), performance: { now: () => 0 } });
const later = [];
Object.assign(globalThis, { setTimeout: (run) => later.push(run), clearTimeout: () => later.pop() });
const said = (parameters, states) => {
  const frame = thing();
  frame.dataset = { parameters: JSON.stringify(parameters) };
  const figure = m.show(frame);
  return states.map((state) => {
    figure.set(state);
    while (later.length) later.pop()();
    return figure.outcome.textContent;
  });
};
const listed = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
"""


@functools.cache
def engine(module):
    """V8 with a module of the site as `m`, and all it imports."""
    script = classic(STATIC / f"{module}.js")
    exports = f"globalThis.m = module_{script.count('const module_') - 1};\n}})();\n"
    made = MiniRacer()
    made.eval(PAGE + script.removesuffix("})();\n") + exports)
    return made


atexit.register(engine.cache_clear)  # V8's thread would keep the process from ending


def call(module, function, *given):
    """Call a function with the exports `m` of a module, and return what it returns."""
    return json.loads(engine(module).eval(f"JSON.stringify(({function})(...{json.dumps(given)}), listed)"))


def said(name, parameters, *states):
    """What a live figure says, given its parameters, in each of some states."""
    return call(f"live/{name}", "said", parameters, states)


def numbers(sentence):
    return [float(word) for word in re.findall(r"\d+\.\d+|\d+", sentence.replace(",", ""))]
