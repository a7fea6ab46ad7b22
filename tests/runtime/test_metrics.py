import re

import pytest

from groundwire.contracts.records import Closing
from groundwire.runtime.clock import CharsPerFour
from groundwire.runtime.context_window import context_usage, context_warning
from groundwire.runtime.metrics import SIZE_ALERT_CHARS, percentile, take_snapshot, to_prometheus
from groundwire.store import MemoryStore
from tests.conformance import builders

CONTEXT = {"sessionInitTokens": 3, "systemPromptTokens": 1, "toolDeclTokens": 2}


@pytest.mark.requirement("B-154")
@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, 0.0),
        ([7], 50, 7),
        ([7], 99, 7),
        ([1, 2], 50, 1),
        ([1, 2, 3], 50, 2),
        ([3, 1, 2], 95, 3),
        (range(1, 101), 50, 50),
        (range(1, 101), 95, 95),
        (range(1, 101), 99, 99),
        (range(1, 1001), 99, 990),
        (range(1, 21), 95, 19),
    ],
)
def test_a_percentile_is_a_value_that_occurred(values, percent, expected):
    assert percentile(list(values), percent) == expected


@pytest.mark.requirement("B-171")
@pytest.mark.parametrize(
    ("used", "window", "warns"),
    [(899_999, 1_000_000, False), (900_000, 1_000_000, True), (115_199, 128_000, False), (115_200, 128_000, True)],
)
def test_a_context_that_is_nine_tenths_full_is_warned_of(used, window, warns):
    assert (context_warning(used, window) is not None) is warns


@pytest.mark.requirement("B-164", "B-167")
def test_a_session_starts_with_prompt_and_declarations():
    usage = context_usage(CharsPerFour(), system_prompt="x" * 9, declarations="y" * 8)
    assert usage == {"sessionInitTokens": 5, "systemPromptTokens": 3, "toolDeclTokens": 2}


async def store_with(*sizes, tool="t"):
    store = MemoryStore()
    for number, size in enumerate(sizes):
        call = builders.call(
            f"{tool}-{number}", tool=tool, chars=size, tokens=-(-size // 4), duration_ms=float(size), executed=True
        )
        store.enqueue(Closing(call=call, entry=builders.entry(f"{tool}-{number}")))
    await store.flush()
    return store


@pytest.mark.requirement("B-154", "B-155", "B-156", "B-160", "B-162", "B-163", "B-017", "B-024")
async def test_sizes_tokens_and_times_are_known_for_each_tool():
    snapshot = await take_snapshot(await store_with(*range(1, 101)), "acme", context=CONTEXT)
    assert snapshot["responseSizes"] == {"t": {"p50": 50, "p95": 95, "p99": 99}}
    assert snapshot["latencyMs"] == {"t": {"p50": 50.0, "p95": 95.0, "p99": 99.0}}
    assert snapshot["responseTokens"] == {"t": {"avg": 13.0, "p95": 24}}
    assert snapshot["context"] == CONTEXT


@pytest.mark.requirement("B-154")
async def test_only_the_newest_thousand_responses_count():
    snapshot = await take_snapshot(await store_with(*[9_999] * 50, *[10] * 1_000), "acme", context=CONTEXT)
    assert snapshot["responseSizes"]["t"]["p99"] == 10


@pytest.mark.requirement("B-159")
@pytest.mark.parametrize(("size", "alerts"), [(SIZE_ALERT_CHARS, 0), (SIZE_ALERT_CHARS + 1, 1)])
async def test_large_responses_are_an_alert(size, alerts):
    snapshot = await take_snapshot(await store_with(*[size] * 20), "acme", context=CONTEXT)
    assert len(snapshot["alerts"]) == alerts
    assert SIZE_ALERT_CHARS == 1_500


LINE = re.compile(r"^(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def parse(text):
    """Prometheus text, version 0.0.4: every sample with its labels; types are declared once and first."""
    kinds, samples = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            found = LINE.match(line)
            assert found, line
            labels = found["labels"] or ""
            assert LABEL.sub("", labels) == "", line
            assert found["name"] in kinds
            key = (found["name"], tuple(LABEL.findall(labels)))
            assert key not in samples
            samples[key] = float(found["value"])
    return kinds, samples


async def test_the_prometheus_form_can_be_parsed_and_says_the_same():
    snapshot = await take_snapshot(await store_with(4, 8, 12), "acme", context=CONTEXT)
    snapshot["calls"] = {"t": {"ok": 2, "TIMEOUT": 1}}
    kinds, samples = parse(to_prometheus(snapshot))
    assert kinds["groundwire_calls_total"] == "counter"
    assert kinds["groundwire_response_chars"] == "summary"
    assert samples["groundwire_response_chars", (("tool", "t"), ("quantile", "0.50"))] == 8
    assert samples["groundwire_latency_ms", (("tool", "t"), ("quantile", "0.99"))] == 12
    assert samples["groundwire_response_tokens_avg", (("tool", "t"),)] == 2
    assert samples["groundwire_calls_total", (("tool", "t"), ("outcome", "TIMEOUT"))] == 1
    assert samples["groundwire_context_session_init_tokens", ()] == 3


async def test_odd_names_do_not_break_the_prometheus_form():
    odd = 'a "quoted"\\name\nin two lines'
    snapshot = await take_snapshot(await store_with(4, tool=odd), "acme", context=CONTEXT)
    _, samples = parse(to_prometheus(snapshot))
    assert any(labels[0][1] == 'a \\"quoted\\"\\\\name\\nin two lines' for _, labels in samples if labels)
