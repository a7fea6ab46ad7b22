"""Feature flags that must be on, and words that must have been said."""

import pytest

from groundwire import ErrorType, Gate, Ground, Overrides, PolicyRule, Settings, say, tool
from groundwire.testing import StaticFlags, assert_failed, assert_ok

TALK = (say("user", "MOQ is 500 pieces.", turn=1), say("assistant", "Noted.", turn=1), say("user", "Thanks", turn=2))


def gated(*gates, category="action"):
    runs = []

    @tool(category=category, gates=list(gates))
    def maps(query: str) -> list:
        """Look at maps."""
        runs.append(query)
        return [query]

    return maps, runs


async def test_a_closed_gate_refuses_as_disabled_and_an_open_one_lets_pass(make, audit_of):
    maps, runs = gated("MAPS")
    flags = StaticFlags()
    runtime = make(maps, flags=flags)
    error = assert_failed(await runtime.call("maps", {"query": "x"}), ErrorType.PERMANENT, detail="DISABLED")
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert "MAPS" not in error.message
    assert runs == []
    flags.turn_on("MAPS")
    assert_ok(await runtime.call("maps", {"query": "x"}))
    refused, executed = await audit_of(runtime)
    assert (refused.decision, executed.decision) == ("refused", "executed")
    assert "MAPS" in refused.reason


@pytest.mark.parametrize("category", ["action", "retrieval"])
@pytest.mark.parametrize("answer", [[], {"places": [], "note": "off"}, None, 0])
async def test_a_gate_with_an_answer_answers_in_place_of_the_tool(make, audit_of, calls_of, category, answer):
    maps, runs = gated(Gate(flag="MAPS", answer=answer), category=category)
    flags = StaticFlags()
    runtime = make(maps, flags=flags)
    result = await runtime.call("maps", {"query": "x"}, idempotency_key="k")
    assert result.ok
    assert result.data == answer
    assert result.meta.replayed is False
    assert runs == []
    (entry,) = await audit_of(runtime)
    assert (entry.decision, entry.success) == ("answered", True)
    (row,) = await calls_of(runtime)
    assert row.executed is False
    flags.turn_on("MAPS")
    assert assert_ok(await runtime.call("maps", {"query": "x"}, idempotency_key="k")) == ["x"]


async def test_all_gates_must_be_open(make):
    maps, _ = gated("A", "B")
    flags = StaticFlags("A")
    runtime = make(maps, flags=flags)
    assert_failed(await runtime.call("maps", {"query": "x"}), ErrorType.PERMANENT)
    flags.turn_on("B")
    assert_ok(await runtime.call("maps", {"query": "x"}))


async def test_flags_of_the_configuration_open_gates(make):
    maps, _ = gated("MAPS")
    assert_ok(await make(maps, settings=Settings(flags={"MAPS": True})).call("maps", {"query": "x"}))


def logging_tool(ground=None, **options):
    runs = []

    @tool(category="action", ground={"quote": Ground(), **(ground or {})}, **options)
    def log_data(quote: str | None = None, value: int = 0) -> str:
        """Store a fact."""
        runs.append(quote)
        return "stored"

    return log_data, runs


def in_mode(mode):
    return Settings(policies=(PolicyRule(limits=Overrides(grounding=mode)),))


async def test_words_that_were_said_pass_and_their_place_is_kept_in_envelope_and_audit(make, audit_of):
    log_data, _ = logging_tool()
    runtime = make(log_data)
    result = await runtime.call("log_data", {"quote": "500 pieces"}, history=TALK)
    assert_ok(result)
    (evidence,) = result.meta.evidence
    assert (evidence.argument, evidence.grounded, evidence.turn) == ("quote", True, 1)
    assert TALK[0].text[evidence.start : evidence.end] == "500 pieces"
    (entry,) = await audit_of(runtime)
    assert entry.evidence == (evidence,)


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ("moq is 500", "case"),
        ("MOQ  is 500", "whitespace"),
        ("MOQ is 500 pieces!", "punctuation_width"),
        ("Noted.", "other_speaker"),
        ("500 pieces. Thanks", "merged_messages"),
        ("five hundred", "paraphrase"),
        ("", "empty"),
        (None, "absent"),
    ],
)
async def test_strict_mode_refuses_what_was_not_said_and_says_why(make, audit_of, quote, reason):
    log_data, runs = logging_tool()
    runtime = make(log_data)
    result = await runtime.call("log_data", {"quote": quote}, history=TALK, caller="model")
    error = assert_failed(result, ErrorType.UNGROUNDED)
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert [item.near_miss for item in result.meta.evidence] == [reason]
    (entry,) = await audit_of(runtime)
    assert [item.near_miss for item in entry.evidence] == [reason]
    assert runs == []


async def test_report_mode_runs_the_call_with_a_warning_and_the_reason(make):
    log_data, runs = logging_tool()
    runtime = make(log_data, settings=in_mode("report"))
    result = await runtime.call("log_data", {"quote": "moq is 500"}, history=TALK)
    assert_ok(result)
    assert len(result.warnings) == 1
    assert [(item.grounded, item.near_miss) for item in result.meta.evidence] == [(False, "case")]
    assert runs == ["moq is 500"]


@pytest.mark.parametrize("quote", ["I", "，", "\u200b\u200b", "5"])
@pytest.mark.parametrize(("mode", "runs_"), [("strict", False), ("report", True)])
async def test_a_trivial_quote_is_no_evidence_in_any_mode(make, quote, mode, runs_):
    log_data, runs = logging_tool()
    history = (say("user", f"I want, {quote} 5 of them，please", turn=1),)
    result = await make(log_data, settings=in_mode(mode)).call("log_data", {"quote": quote}, history=history)
    assert (result.ok, bool(runs)) == (runs_, runs_)
    assert [item.grounded for item in result.meta.evidence] == [False]


@pytest.mark.parametrize(("mode", "runs_"), [("strict", False), ("report", True)])
async def test_a_number_that_is_not_in_the_quote_is_not_grounded_where_the_tool_asks_for_it(make, mode, runs_):
    log_data, runs = logging_tool({"quote": Ground(value=True)})
    runtime = make(log_data, settings=in_mode(mode))
    history = (say("user", "单价5块", turn=1),)
    assert_ok(await runtime.call("log_data", {"quote": "单价5块", "value": 5}, history=history))
    runs.clear()
    result = await runtime.call("log_data", {"quote": "单价5块", "value": 7}, history=history, caller="model")
    assert (result.ok, bool(runs)) == (runs_, runs_)
    evidence = [(item.argument, item.grounded, item.near_miss) for item in result.meta.evidence]
    assert evidence == [("quote", True, None), ("value", False, "number")]


async def test_numbers_that_the_executor_supplies_need_no_quote(make):
    @tool(category="action", ground={"quote": Ground(value=True)}, supplied=("request_id",))
    def log_price(quote: str, price: float, request_id: str) -> str:
        """Store a price."""
        return request_id

    history = (say("user", "单价5块", turn=1),)
    call = {"quote": "单价5块", "price": 5}
    assert assert_ok(await make(log_price).call("log_price", call, history=history, request_id="77")) == "77"


async def test_off_means_that_nobody_looks(make):
    log_data, _ = logging_tool()
    result = await make(log_data, settings=in_mode("off")).call("log_data", {"quote": "never said"}, history=TALK)
    assert_ok(result)
    assert result.warnings == ()
    assert "evidence" not in str(result.meta.evidence)


async def test_an_optional_quote_may_be_absent_but_not_empty(make):
    log_data, _ = logging_tool({"quote": Ground(optional=True)})
    runtime = make(log_data)
    result = await runtime.call("log_data", {}, history=TALK)
    assert_ok(result)
    assert [item.grounded for item in result.meta.evidence] == [None]
    assert_failed(await runtime.call("log_data", {"quote": ""}, history=TALK), ErrorType.UNGROUNDED)


async def test_without_a_conversation_nothing_is_grounded(make):
    log_data, _ = logging_tool()
    assert_failed(await make(log_data).call("log_data", {"quote": "500"}), ErrorType.UNGROUNDED)


async def test_grounding_comes_before_the_question_to_a_person(make):
    log_data, _ = logging_tool(confirm=True)
    runtime = make(log_data)
    assert_failed(await runtime.call("log_data", {"quote": "never"}, history=TALK), ErrorType.UNGROUNDED)
    assert await runtime.approvals() == []
