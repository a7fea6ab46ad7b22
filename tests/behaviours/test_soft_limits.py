"""Slow but not stuck: the call is finished, its result says so, and the operator finds a line in the log."""

import logging

import pytest

from groundwire import Overrides, PolicyRule, Settings, Tool
from groundwire.testing import FakeClock, assert_ok


def taking(clock, category, **options):
    async def handler(ms):
        clock.advance(ms / 1000)
        return "done"

    schema = {"type": "object", "properties": {"ms": {"type": "number"}}, "required": ["ms"]}
    return Tool(name="wait", description="Wait.", parameters=schema, handler=handler, category=category, **options)


@pytest.mark.parametrize(
    ("category", "mode", "limit"),
    [
        pytest.param("retrieval", "voice", 800, marks=pytest.mark.requirement("B-043", "B-087")),
        pytest.param("retrieval", "text", 2_000, marks=pytest.mark.requirement("B-055", "B-087")),
        pytest.param("action", "voice", 1_000, marks=pytest.mark.requirement("B-190")),
        pytest.param("utility", "voice", 1_000, marks=pytest.mark.requirement("B-190")),
    ],
)
async def test_past_the_soft_limit_a_call_finishes_with_a_warning_in_result_and_log(
    make, caplog, category, mode, limit
):
    clock = FakeClock()
    runtime = make(taking(clock, category), clock=clock)
    on_time = await runtime.call("wait", {"ms": limit}, mode=mode)
    assert on_time.warnings == ()
    assert caplog.records == []
    late = await runtime.call("wait", {"ms": limit + 1}, mode=mode)
    assert assert_ok(late) == "done"
    assert [str(limit) in warning for warning in late.warnings] == [True]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "wait" in caplog.text


@pytest.mark.parametrize("category", ["action", "utility"])
async def test_in_text_only_retrieval_has_a_soft_limit(make, category):
    clock = FakeClock()
    result = await make(taking(clock, category), clock=clock).call("wait", {"ms": 10_000})
    assert result.warnings == ()


async def test_the_soft_limit_is_the_tools_own_or_the_operators(make):
    clock = FakeClock()
    rule = PolicyRule(modes=("voice",), limits=Overrides(soft_ms=3))
    runtime = make(taking(clock, "action", soft_ms=5), clock=clock, settings=Settings(policies=(rule,)))
    outcomes = [
        bool((await runtime.call("wait", {"ms": ms}, mode=mode)).warnings)
        for ms, mode in ((5, "text"), (6, "text"), (3, "voice"), (4, "voice"))
    ]
    assert outcomes == [False, True, False, True]


async def test_the_envelope_and_the_record_say_how_long_it_took(make, calls_of, audit_of):
    clock = FakeClock()
    runtime = make(taking(clock, "retrieval"), clock=clock)
    result = await runtime.call("wait", {"ms": 12.5})
    assert result.meta.duration_ms == 12.5
    assert [row.duration_ms for row in await calls_of(runtime)] == [12.5]
    assert [entry.duration_ms for entry in await audit_of(runtime)] == [12.5]
