"""Which records the claims of the chapters rest on."""

from pathlib import Path

from experiments.__main__ import _parser
from experiments.evidence import records_behind, remade
from experiments.records import RECORDS, recorded
from tests.book.test_book import BOOK
from tests.experiments.test_claims import SEEN_IN_A_RECORD


def test_what_rests_on_a_record_has_the_commands_that_make_it_anew():
    pages = {path for path in BOOK.glob("*/*.md") if "format_name: myst" in path.read_text()[:400]}
    commands = {}
    for page in pages:
        commands |= records_behind(page)
    known = {remade(recorded(path.parent.name, path.stem)) for path in RECORDS.glob("*/*.json")}
    assert set().union(*commands.values()) <= known
    assert {claim for claim in SEEN_IN_A_RECORD if not commands[claim]} == set()
    [command] = commands["boursier2022-fig-6"]
    arguments = command.partition("  #")[0].split()[3:]
    options = _parser().parse_args(arguments)
    assert (options.name, options.seeds) == ("boursier2022-figure-6", 10)
    assert options.records == Path("_build/anew"), "not where the record is that it makes anew"
    assert not commands["min2024-lem3"]
