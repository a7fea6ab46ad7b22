import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import msgspec
import pytest

from groundwire.evals.reports.page import write_page
from groundwire.evals.reports.page.details import DEPTH, TEXT_CHARS, TRIAL_BYTES, encode_detail, pack_details
from groundwire.evals.reports.page.latencies import DOTS, choose_axis
from groundwire.evals.reports.page.markup import Markup, breakable, tag
from groundwire.evals.statistics import summarise
from tests.evals.report_samples import HOSTILE, make_failure, make_record, make_records, make_run


def write(records, **changes):
    return write_page(make_run(**changes), records, summarise(records)).decode()


class Elements(HTMLParser):
    """What a browser would make elements and attributes of."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def unpack(page):
    chunks = re.findall(r'<script type="text/plain" id="chunk-\d+">([^<]*)</script>', page)
    return [json.loads(zlib.decompress(base64.b64decode(chunk))) for chunk in chunks]


def read_index(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_no_text_of_a_record_becomes_an_element():
    plain, hostile = (
        Elements(
            write(
                [make_failure(text, text, profile=text, strategy=text, code=text, message=text, state={text: text})],
                suite=text,
                run_id=text,
                scenarios=(text,),
                notes={text: text},
            )
        )
        for text in ("plain", HOSTILE)
    )
    assert [name for name in hostile.tags if name != "wbr"] == plain.tags
    assert {(tag, name) for tag, name, _ in hostile.attributes} == {(tag, name) for tag, name, _ in plain.attributes}
    assert any("</script><script>document.body.id" in text for text in hostile.texts)


def test_the_page_names_nothing_outside_of_itself():
    page = Elements(write(make_records()))
    assert [one for one in page.attributes if one[1] in {"src", "href", "srcset", "action", "style", "onclick"}] == []
    assert set(page.tags) & {"link", "img", "iframe", "object", "base"} == set()
    styles = "".join(re.findall(r"<style>(.*?)</style>", write(make_records()), re.DOTALL))
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_allows_just_this_script_and_this_style():
    page = write(make_records())
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    (policy,) = [value for tag, name, value in Elements(page).attributes if (tag, name) == ("meta", "content")][:1]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_each_cell_has_its_rate_and_interval():
    labels = [value for tag, name, value in Elements(write(make_records())).attributes if name == "aria-label"]
    cells = [label for label in labels if "sim/poor" in label]
    assert cells == [
        "sim/poor · default · plain, all scenarios: 1 of 3 passed, 1 invalid, 95 % interval 6–79 %",
        "sim/poor · default · plain, happy_path: 0 of 2 passed, 95 % interval 0–66 %",
        "sim/poor · default · plain, chat_only: 1 of 1 passed, 1 invalid, 95 % interval 21–100 %",
    ]


def test_a_scenario_that_was_not_run_has_an_empty_cell():
    page = write([make_record("a", "one"), make_record("b", "two")])
    assert page.count('<td class="none">') == 2


def test_a_trial_is_in_the_page_from_its_first_word_to_its_state():
    (details,) = unpack(write([make_failure()]))
    record = make_failure()
    assert details == [
        {
            "message": "It said Ok.",
            "outcome": "completed",
            "text": "Done.",
            "steps": 2,
            "attempts": 1,
            "startedAt": "",
            "runIds": ["run_1"],
            "findings": msgspec.to_builtins(list(record.findings)),
            "calls": [{"name": "state_patch", "arguments": {"title": "Plan"}, "ok": True, "data": {"title": "Plan"}}],
            "state": {"title": "Plan"},
            "conversation": list(record.conversation),
            "cut": False,
        }
    ]


def test_the_index_says_where_each_trial_is():
    page = write(make_records())
    index, chunks = read_index(page), unpack(page)
    assert index["combinations"] == [["sim/good", "default", "plain"], ["sim/poor", "default", "plain"]]
    assert index["scenarios"] == ["happy_path", "chat_only"]
    found = [chunks[trial["place"][0]][trial["place"][1]] for trial in index["trials"]]
    assert [one["message"] for one in found] == [record.message for record in make_records()]
    assert [trial["code"] for trial in index["trials"]][4:] == ["wrong_text", "no_call", "rate_limit", ""]


@pytest.mark.parametrize(("over", "is_cut"), [(0, False), (1, True)])
def test_a_very_long_text_is_cut(over, is_cut):
    detail = json.loads(encode_detail(make_record(text="x" * (TEXT_CHARS[0] + over))))
    assert detail["cut"] is is_cut
    assert detail["text"] == "x" * TEXT_CHARS[0] + ("… (1 more characters)" if is_cut else "")


@pytest.mark.parametrize(("levels", "is_cut"), [(DEPTH, False), (DEPTH + 1, True), (900, True)])
def test_a_very_deep_state_is_cut(levels, is_cut):
    state = 0
    for _ in range(levels):
        state = [state]
    assert json.loads(encode_detail(make_record(state=state)))["cut"] is is_cut


@pytest.mark.parametrize("state", [["x" * 10_000] * 1_000, list(range(100_000)), {str(n): n for n in range(100_000)}])
def test_no_trial_takes_more_than_its_share_of_the_page(state):
    body = encode_detail(make_failure(state=state))
    assert len(body) <= TRIAL_BYTES
    detail = json.loads(body)
    assert (detail["cut"], detail["message"]) == (True, "It said Ok.")


def test_a_page_that_is_full_leaves_out_trials_that_passed():
    records = [make_record(number=1, state=["a" * 15_000] * 15), make_failure(number=2, state=["b" * 15_000] * 15)] * 3
    assert pack_details(records).places.keys() == {0, 1, 2, 3, 4, 5}
    first_chunk = len(pack_details(records).chunks[0])
    assert sorted(pack_details(records, page_bytes=first_chunk).places) == [1, 3]
    assert pack_details(records, page_bytes=first_chunk - 1).places == {}


def test_two_thousand_long_trials_make_a_page_of_bearable_size():
    said = [
        {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": f"{n} words " * 300}]} for n in range(8)
    ]
    page = write([make_record(number=number, conversation=tuple(said)) for number in range(1, 2_001)])
    assert len(page) < 4_000_000
    assert all(trial["place"] for trial in read_index(page)["trials"])


@pytest.mark.parametrize(
    ("values", "low", "high", "labels"),
    [
        ([1_000, 20_000], 0.0, 20_000, ["0", "5.0 s", "10.0 s", "15.0 s", "20.0 s"]),
        ([1_000, 20_001], 1_000, 100_000, ["1.0 s", "10.0 s", "100 s"]),
        ([3.0], 0.0, 3.0, ["0", "0.5 ms", "1 ms", "1.5 ms", "2 ms", "2.5 ms", "3 ms"]),
        ([0.0, 0.0], 0.0, 1.0, ["0", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]),
        ([], 0.0, 1.0, ["0", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]),
    ],
)
def test_the_axis_is_logarithmic_where_times_differ_more_than_twentyfold(values, low, high, labels):
    axis = choose_axis(values)
    assert (axis.low, axis.high, axis.labels) == (low, pytest.approx(high), labels)
    assert all(0 <= axis.place(value) <= 1_000 for value in values)


@pytest.mark.parametrize("trials", [1, DOTS, DOTS + 1, 5 * DOTS])
def test_every_trial_is_a_dot_until_there_are_too_many(trials):
    page = write([make_record(number=number) for number in range(1, trials + 1)])
    (path,) = re.findall(r'<path d="([^"]*)"', page)
    assert path.count("M") == min(trials, DOTS)


def test_failures_are_drawn_by_code_and_combination():
    page = write([make_failure(number=n, code=f"code_{n % 8}") for n in range(1, 20)])
    assert [f"code_{n}" in page for n in range(8)] == [True] * 8
    assert page.count('class="code-4"') == 2  # in the legend and in the bar
    assert 'class="code-5"' not in page
    assert "other codes" in page


def test_without_failures_nothing_is_said_of_them():
    assert 'id="failures"' not in write([make_record()])
    assert 'id="failures"' in write([make_failure()])


def test_text_in_markup_is_escaped_and_attributes_are_named_as_in_html():
    made = tag("td", "<b>", Markup("<i></i>"), None, ["&", 1], class_='a"b', data_x=1, title=None)
    assert made == '<td class="a&quot;b" data-x="1">&lt;b&gt;<i></i>&amp;1</td>'
    assert breakable("a_b<c") == "a_<wbr>b&lt;c"
