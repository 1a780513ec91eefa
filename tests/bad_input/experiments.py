"""Bad arguments of what runs and records experiments."""

import dataclasses

from hypothesis import strategies as st

from lib import digests, engine, jobs, journal, pools, provenance, record, records, sealed
from lib.experiments import registry
from tests.bad_input.cases import NOT_WHOLE, Case
from tests.counting import COUNT, Counting
from tests.folders import kept_folder

FOLDER = kept_folder("bad-experiments")
PLAN = record.planned(COUNT)
FULL = dataclasses.replace(PLAN, seeds=(0,), metrics=({"square": 0},))
TASK = engine.Task(COUNT, "full", (0, 1))
JOB = jobs.Job(COUNT, "full", (0,))

OTHER_THINGS = st.sampled_from([None, 3, "counting", [COUNT], {"name": "counting"}])
NOT_WORDS = st.sampled_from(["", "Two Words", "../up", "a/b", "a_b", "-a", None, 3, "a\n"])
NOT_VARIANTS = st.sampled_from(["", "fulll", None, 3, "FULL"])
NOT_SEEDS = st.sampled_from([(), (0, 0), (0.5,), (-1,), ("a",), (None,), 3, None, (True,)])
NOT_JSON = st.sampled_from(
    [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {"a": {1, 2}}, {(1, 2): 3}]
)
NOT_POSITIVE_WHOLE = NOT_WHOLE | st.just(0)
NOT_COUNTS = NOT_POSITIVE_WHOLE.filter(lambda value: value is not None)


@dataclasses.dataclass
class Thawed:
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Other:
    scale: float = 1.0


NOT_CONFIGS = st.sampled_from(
    [
        None,
        {"scale": 1.0},
        Thawed(),
        Counting,
        Counting(scale=float("nan")),
        Counting(failing=[1]),
        Counting(scale={}),
    ]
)
SOURCES = st.sampled_from(["def f(:", "x = (", "'''open", None, 3, "if True:\nx = 1"])

CASES = [
    Case(
        registry.Experiment,
        {"name": "die", "title": "A die", "full": Counting(), "quick": Counting(), "run": COUNT.run},
        {
            "name": NOT_WORDS,
            "title": st.sampled_from(["", " ", "two\nlines", None, 3]),
            "full": NOT_CONFIGS,
            "quick": NOT_CONFIGS | st.just(Other()),
            "run": st.sampled_from([None, "run", 3, print]),
            "variants": st.sampled_from(
                [
                    {"full": Counting()},
                    {"Two Words": Counting()},
                    {"all": Counting()},
                    {"b": Other()},
                    {"c": None},
                ]
            ),
            "seeds": NOT_POSITIVE_WHOLE,
            "chunk": NOT_POSITIVE_WHOLE,
        },
    ),
    Case(registry.register, {"experiment": COUNT}, {"experiment": OTHER_THINGS}),
    Case(registry.find, {"name": "counting"}, {"name": st.sampled_from(["", "no-such", None, 3])}),
    Case(digests.digest_of_source, {"source": "x = 1"}, {"source": SOURCES}),
    Case(
        digests.module_file,
        {"module": "lib"},
        {"module": st.sampled_from(["", "a..b", "a-b", "../lib", None, 3])},
    ),
    Case(
        digests.dependencies,
        {"module": "lib.arguments"},
        {"module": st.sampled_from(["", "nowhere", "numpy", None])},
    ),
    Case(
        digests.code_digests,
        {"module": "lib.arguments"},
        {"module": st.sampled_from(["", "nowhere", "numpy", None])},
    ),
    Case(
        digests.folders_of,
        {"module": "lib.arguments"},
        {"module": st.sampled_from(["", "__main__", "nowhere", None])},
    ),
    Case(
        digests.digests_at_first_use,
        {"module": "lib.arguments"},
        {"module": st.sampled_from(["", "nowhere", None])},
    ),
    Case(sealed.as_json, {"name": "content", "content": {"a": 1}}, {"content": NOT_JSON}),
    Case(sealed.digest, {"content": {"a": 1}}, {"content": NOT_JSON}),
    Case(
        sealed.seal,
        {"path": FOLDER / "one.json", "content": {"a": 1}, "replace": True},
        {"content": NOT_JSON | st.sampled_from([None, [1], "a", 3])},
    ),
    Case(provenance.hardware, {"device": "cpu"}, {"device": st.sampled_from(["tpu", "", None, 3, "CPU"])}),
    Case(provenance.without_paths, {"text": "line"}, {"text": st.sampled_from([None, 3, b"line"])}),
    Case(record.seeds_in_words, {"count": 3}, {"count": NOT_WHOLE}),
    Case(record.planned, {"experiment": COUNT}, {"experiment": OTHER_THINGS, "variant": NOT_VARIANTS}),
    Case(
        record.changes,
        {"record": PLAN, "experiment": COUNT},
        {"experiment": OTHER_THINGS, "record": OTHER_THINGS},
    ),
    Case(
        records.write_record,
        {"record": FULL, "folder": FOLDER},
        {
            "record": OTHER_THINGS
            | st.just(PLAN)
            | NOT_JSON.map(lambda bad: dataclasses.replace(FULL, metrics=(bad,)))
        },
    ),
    Case(records.read_records, {"name": "die", "variant": "full"}, {"name": NOT_WORDS, "variant": NOT_WORDS}),
    Case(records.latest, {"record": PLAN, "folder": FOLDER}, {"record": OTHER_THINGS}),
    Case(records.command, {"name": "die"}, {"name": NOT_WORDS, "variant": NOT_WORDS}),
    Case(
        jobs.Job,
        {"experiment": COUNT, "variant": "full", "seeds": (0,)},
        {
            "experiment": OTHER_THINGS,
            "variant": NOT_VARIANTS,
            "seeds": NOT_SEEDS,
            "device": st.sampled_from(["tpu", "", None, 3]),
            "threads": NOT_POSITIVE_WHOLE,
        },
    ),
    Case(jobs.check_seeds, {"seeds": (0, 1)}, {"seeds": NOT_SEEDS}),
    Case(
        jobs.failure,
        {"error": ValueError("bad")},
        {"error": st.sampled_from([None, 3, "ValueError", ValueError])},
    ),
    Case(jobs.run_job, {"job": JOB}, {"job": OTHER_THINGS}),
    Case(journal.Journal, {"plan": PLAN}, {"plan": OTHER_THINGS}),
    Case(
        pools.run_all,
        {"jobs": [], "pool": pools.Pool("sequential", {"backend": "sequential"}, 1)},
        {"jobs": st.sampled_from([[None], "jobs", [COUNT]]), "pool": OTHER_THINGS},
    ),
    Case(
        engine.Task,
        {"experiment": COUNT, "variant": "full", "seeds": (0,)},
        {"experiment": OTHER_THINGS, "variant": NOT_VARIANTS, "seeds": NOT_SEEDS},
    ),
    Case(
        engine.Settings,
        {},
        {
            "backend": st.sampled_from(["threads", "", None, 3]),
            "address": st.sampled_from(["tcp://127.0.0.1:8786", 3]),
            "workers": NOT_COUNTS,
            "threads": NOT_POSITIVE_WHOLE,
            "chunk": NOT_COUNTS,
            "device": st.sampled_from(["tpu", "", None, 3]),
            "retries": NOT_WHOLE,
        },
    ),
    Case(engine.state_of, {"task": TASK, "records": FOLDER, "journal": FOLDER}, {"task": OTHER_THINGS}),
    Case(
        engine.sweep,
        {"tasks": []},
        {
            "tasks": st.sampled_from([[None], "tasks", [COUNT], [TASK, TASK]]),
            "settings": st.sampled_from([3, "loky"]),
        },
    ),
    Case(
        engine.command_of,
        {"task": TASK, "settings": engine.Settings()},
        {"task": OTHER_THINGS, "settings": OTHER_THINGS},
    ),
]
EXEMPT = {
    "lib.experiments.registry.load": "it takes no argument",
    "lib.experiments.__main__.main": "bad arguments give an exit status; tested in test_engine",
    "lib.provenance.versions": "it takes no argument",
    "lib.provenance.peak_memory": "it takes no argument",
    "lib.sealed.unseal": "its argument is a file; damaged ones are tested in test_records",
    "lib.records.read_record": "its argument is a file; damaged ones are tested in test_records",
    "lib.records.recorded": "it finds names and variants by functions that refuse bad ones",
    "lib.jobs.fixed_threads": "it refuses bad numbers when the block is entered; tested in test_engine",
    "lib.journal.now": "it takes no argument",
}
