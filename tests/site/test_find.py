"""Things of the book are found while one types, over http and from the disk."""

import json

import pytest

# What readers typed, and what must stand among the first three hits.
SEARCHES = {
    "spectral decoupling": "spectral_decoupling.html",
    "min2024-lem-13": "min2024-lem13",
    "alignment time": "alignment_time.html",
    "Ei": "Ei(",
    "CelebA": "pezeshki2021-tab-2",
    "saddle": "saddle.html",
    "erratum": "errata.html",
    "leaky": "leaky.html",
    "how to run": "run_it.html",
    "colored digits": "coloured_digits.html",
    "coloured digits": "coloured_digits.html",
    "stable rank": "low_rank.html",
    "starvation matrix": "starvation-matrix",
}


@pytest.fixture(scope="module")
def things(site):
    script = (site / "_static" / "things.js").read_text(encoding="utf-8")
    return json.loads(script.partition(" = ")[2].rstrip(";\n"))


def test_the_index_leads_to_what_is_there(things, site):
    pages = {}
    for _, name, _, place, _ in things:
        page, _, anchor = place.partition("#")
        if page not in pages:
            pages[page] = (site / page).read_text(encoding="utf-8")
        assert not anchor or f'id="{anchor}"' in pages[page], name


@pytest.mark.parametrize("query", SEARCHES)
def test_what_readers_typed_is_among_the_first_hits(open_page, address, query):
    page = open_page(f"{address}/book/index.html")
    script = """async (query) => {
        const { ranked } = await import("/_static/find/rank.js");
        await new Promise((done) => {
            const tag = document.createElement("script");
            tag.src = "/_static/things.js";
            tag.onload = done;
            document.head.append(tag);
        });
        return ranked(window.thingsOfTheBook, query).slice(0, 3).map((thing) => thing.join(" "));
    }"""
    first = page.evaluate(script, query)
    assert any(SEARCHES[query].lower() in hit.lower() for hit in first), first


@pytest.mark.parametrize("how", ["address", "disk"])
def test_hits_appear_while_one_types(open_page, request, how):
    page = open_page(f"{request.getfixturevalue(how)}/book/saddle_to_saddle/scale.html")
    page.keyboard.press("Control+k")
    page.locator("dialog input[name=q]").press_sequentially("min2024-thm1")
    first = page.locator(".found-things a").first
    first.wait_for()
    assert "min2024-thm1" in first.inner_text() and page.errors == []
    first.click()
    page.wait_for_load_state()
    assert "#claim-min2024-thm1" in page.url


@pytest.mark.parametrize("how", ["address", "disk"])
def test_one_switch_opens_code_and_checks_and_is_remembered(open_page, request, how):
    place = request.getfixturevalue(how)
    page = open_page(f"{place}/book/saddle_to_saddle/scale.html")
    closed = page.locator("details.claim-card:not([open]), details.hide:not([open])")
    assert closed.count() > 3
    page.locator("button.fold-switch").click()
    assert closed.count() == 0
    page.goto(f"{place}/book/saddle_to_saddle/line.html")
    assert closed.count() == 0
    page.locator("button.fold-switch").click()
    assert closed.count() > 3 and page.errors == []
