"""How models are reached. OpenRouter is played by the simulator: what is sent to it is what would be sent."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime

import msgspec
import pytest

from groundwire import ConfigError, Settings
from groundwire.assembly import ProviderSettings
from groundwire.contracts.replies import Usage
from groundwire.evals.catalogue import SHIPPED, model
from groundwire.evals.evaluating import evaluate, shortfalls
from groundwire.evals.knobs import read_knobs
from groundwire.evals.preparing import prepare
from groundwire.evals.reaching import open_reach, price_of, require_reachable
from groundwire.evals.records import Status
from groundwire.evals.reports import ReportFolder
from groundwire.evals.scenarios import RubricCheck, Scenario, Suite, TextCheck
from groundwire.evals.simulated import simulated_model
from groundwire.evals.suites import SUITES, WORKSPACE
from groundwire.providers.scripts import Answer
from groundwire.simulator.app import Simulator

NOW = datetime(2026, 2, 7, 12, 36, 28, tzinfo=UTC)
KEY = "sk-or-secret"


@asynccontextmanager
async def played(tmp_path, settings=None, **environ):
    """A run against a server that plays OpenRouter; yields the server, the folder and what came of it."""
    async with Simulator(simulated_model([WORKSPACE]), key=KEY) as server:
        known = {
            "OPENROUTER_API_KEY": KEY,
            "OPENROUTER_BASE_URL": server.url,
            "OPENROUTER_MODEL_FILTER": "qwen/qwen3-next*,!rules",
            "OPENROUTER_SCENARIOS": "happy_path",
            **environ,
        }
        settings = settings or Settings()
        plan = prepare(read_knobs(known), settings, now=NOW)
        folder = ReportFolder.create(tmp_path, plan.run, now=NOW)
        yield server, folder, await evaluate(plan, folder, settings, known)


@pytest.mark.requirement("C-049", "C-051", "C-067", "C-107", "C-147")
async def test_a_real_model_is_asked_at_openrouter_by_its_id_with_the_two_tools(tmp_path):
    async with played(tmp_path) as (server, _, done):
        (record,) = done.finished.records
        assert record.status is Status.PASSED
        assert {request.path for request in server.requests} == {"/v1/chat/completions"}
        body = server.requests[0].body
        assert body["model"] == "qwen/qwen3-next-80b-a3b-instruct:nitro"
        assert [tool["function"]["name"] for tool in body["tools"]] == ["state_get", "state_patch"]
        assert body["seed"] == record.seed


async def test_no_key_is_written_down_anywhere(tmp_path):
    async with played(tmp_path) as (_, folder, _done):
        files = list(folder.path.iterdir())
        assert {file.name for file in files} >= {"run.json", "trials.jsonl", "report.html"}
        assert not [file.name for file in files if KEY.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    ("name", "text", "member", "value"),
    [
        pytest.param("OPENROUTER_TEMPERATURE", "0.2", "temperature", 0.2, marks=pytest.mark.requirement("C-123")),
        pytest.param("OPENROUTER_TOP_P", "0.9", "top_p", 0.9, marks=pytest.mark.requirement("C-124")),
        pytest.param("OPENROUTER_TOP_K", "20", "top_k", 20, marks=pytest.mark.requirement("C-125")),
        pytest.param("OPENROUTER_MIN_P", "0.05", "min_p", 0.05, marks=pytest.mark.requirement("C-126")),
        pytest.param("OPENROUTER_ROUTE", "fallback", "route", "fallback", marks=pytest.mark.requirement("C-167")),
        pytest.param(
            "OPENROUTER_TRANSFORMS", "middle-out", "transforms", ["middle-out"], marks=pytest.mark.requirement("C-168")
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_ONLY", "a,b", "provider", {"only": ["a", "b"]}, marks=pytest.mark.requirement("C-169")
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_ORDER",
            "b,a",
            "provider",
            {"order": ["b", "a"]},
            marks=pytest.mark.requirement("C-170"),
        ),
        pytest.param(
            "OPENROUTER_PROVIDER_IGNORE", "c", "provider", {"ignore": ["c"]}, marks=pytest.mark.requirement("C-171")
        ),
        pytest.param(
            "OPENROUTER_REQUEST_OVERRIDES_JSON",
            '{"temperature":0.3}',
            "temperature",
            0.3,
            marks=pytest.mark.requirement("C-172"),
        ),
        pytest.param(
            "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON",
            '{"max_tokens":99}',
            "max_tokens",
            99,
            marks=pytest.mark.requirement("C-122"),
        ),
    ],
)
async def test_what_a_variable_says_is_in_the_body_that_is_sent(tmp_path, name, text, member, value):
    async with played(tmp_path, **{name: text}) as (server, _, _done):
        # The simulator is as strict as OpenAI: it refuses what only OpenRouter knows. What was sent is what counts.
        sent = server.requests[0].body[member]
        assert msgspec.json.encode(sent) == msgspec.json.encode(value)


@pytest.mark.requirement("C-071", "C-089")
async def test_a_sampling_profile_is_in_the_body_that_is_sent(tmp_path):
    async with played(tmp_path, OPENROUTER_SAMPLING_PROFILE_FILTER="recommended") as (server, _, _done):
        body = server.requests[0].body
        assert {name: body.get(name) for name in ("temperature", "top_p", "top_k", "min_p")} == {
            "temperature": 0.7,
            "top_p": 0.8,
            "top_k": 20,
            "min_p": 0.0,
        }


@pytest.mark.requirement("C-132", "C-129")
async def test_a_mode_without_tools_sends_none(tmp_path):
    async with played(tmp_path, OPENROUTER_TOOL_USE_MODE="disabled", OPENROUTER_SCENARIOS="chat_only") as (
        server,
        _,
        done,
    ):
        assert done.finished.records[0].status is Status.PASSED
        assert "tools" not in server.requests[0].body


@pytest.mark.requirement("C-129", "C-130")
async def test_an_enforced_mode_fails_a_run_without_any_call(tmp_path):
    environ = {"OPENROUTER_TOOL_USE_MODE": "enforced", "OPENROUTER_SCENARIOS": "chat_only"}
    async with played(tmp_path, **environ) as (_, _folder, done):
        (record,) = done.finished.records
        assert (record.status, record.outcome) == (Status.FAILED, "no_tool_call")


@pytest.mark.requirement("C-134", "C-136")
async def test_a_fatal_policy_is_what_decides_about_tools_that_failed(tmp_path):
    environ = {
        "OPENROUTER_MODEL_FILTER": "rules",
        "OPENROUTER_SCENARIOS": "type_error_recovery",
        "OPENROUTER_TOOL_USE_MODE": "enforced",
    }
    async with played(tmp_path, **environ) as (_, _folder, done):
        assert done.finished.records[0].outcome == "tool_failed"
    environ["OPENROUTER_TOOL_FAILURE_POLICY"] = "tolerated"
    async with played(tmp_path, **environ) as (_, _folder, done):
        assert done.finished.records[0].outcome != "completed"  # no call succeeded at all


@pytest.mark.requirement("C-148", "C-149", "C-153")
@pytest.mark.parametrize(("text", "offered"), [("state_get", ["state_get"]), ("all", ["state_get", "state_patch"])])
async def test_the_allow_list_decides_what_is_offered(tmp_path, text, offered):
    async with played(tmp_path, OPENROUTER_TOOL_ALLOWLIST=text, OPENROUTER_SCENARIOS="chat_only") as (server, _, _done):
        assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == offered


@pytest.mark.requirement("C-064", "C-090", "C-119")
async def test_the_fallback_matrix_switches_a_models_own_preset_off_and_on(tmp_path):
    environ = {"OPENROUTER_MODEL_FILTER": "tags,!rules", "OPENROUTER_FALLBACK_MATRIX": "1"}
    async with played(tmp_path, **environ) as (_, _folder, done):
        statuses = {record.trial.strategy: record.status for record in done.finished.records}
        assert statuses == {"fallback_off": Status.FAILED, "fallback_on": Status.PASSED}


@pytest.mark.requirement("C-128")
async def test_the_fallback_can_be_forced_for_every_model(tmp_path):
    environ = {"OPENROUTER_MODEL_FILTER": "tags,!rules", "OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK": "1"}
    async with played(tmp_path, **environ) as (_, _folder, done):
        assert [record.status for record in done.finished.records] == [Status.PASSED]


@pytest.mark.requirement("C-070", "C-159")
@pytest.mark.parametrize(("text", "steps"), [("1", 3), ("0", 2)])
async def test_an_empty_last_answer_is_asked_for_again_or_not(tmp_path, text, steps):
    environ = {"OPENROUTER_MODEL_FILTER": "perfect,!rules", "OPENROUTER_SCENARIOS": "empty_final"}
    async with played(tmp_path, **environ, OPENROUTER_FIX_EMPTY_FINAL=text) as (_, _folder, done):
        (record,) = done.finished.records
        assert (record.status is Status.PASSED, record.steps) == (text == "1", steps)


async def test_a_model_of_another_provider_is_asked_there(tmp_path):
    async with Simulator(simulated_model([WORKSPACE])) as server:
        settings = Settings(
            providers={"acme": ProviderSettings(base_url=server.openai_url)},
            evals={"models": [{"id": "rocket-1", "provider": "acme", "via": "acme"}]},
        )
        async with played(tmp_path, settings, OPENROUTER_MODEL_FILTER="rocket-1,!rules") as (other, _, done):
            assert done.finished.records[0].status is Status.PASSED
            assert [request.body["model"] for request in server.requests] == ["rocket-1"] * 3
            assert other.requests == []


@pytest.mark.requirement("C-050", "C-051")
def test_a_real_model_without_a_key_is_refused_before_anything_is_tried():
    with pytest.raises(ConfigError, match="is a real model, and OPENROUTER_API_KEY is not set") as caught:
        require_reachable(SHIPPED.models, Settings(), {})
    assert "--models simulated" in caught.value.hint
    require_reachable(SHIPPED.models, Settings(), {"OPENROUTER_API_KEY": KEY})
    with pytest.raises(ConfigError, match="rocket is asked at 'acme', which is not set up"):
        require_reachable([model("rocket", via="acme")], Settings(), {})
    lacking = Settings(providers={"acme": ProviderSettings(base_url="https://acme.test", key_env="ACME_KEY")})
    with pytest.raises(ConfigError, match="which is not set up"):
        require_reachable([model("rocket", via="acme")], lacking, {})
    require_reachable([model("rocket", via="acme")], lacking, {"ACME_KEY": "x"})


def test_what_a_reply_says_that_it_cost_is_believed_and_else_prices_are():
    price = price_of(model("a/b", prices=(1.0, 2.0)))
    assert price("", Usage(input=1_000_000, output=500_000)) == 2.0
    assert price("", Usage(input=1, output=1, private={"openai-chat": {"cost": 0.25}})) == 0.25
    assert price("", Usage(input=1_000_000, private={"openai-chat": {"cost": True}})) == 1.0
    assert price_of(model("a/b"))("", Usage(input=1)) is None


def _suite(monkeypatch, *scenarios):
    suite = Suite(name="own", scenarios=scenarios)
    monkeypatch.setitem(SUITES, "own", suite)
    return suite


def _scenario(scenario_id, said, **known):
    return Scenario(
        id=scenario_id, turns=("Say it.",), ideal=(Answer(said),), checks=(TextCheck(equals=said),), **known
    )


async def test_scenarios_that_begin_alike_are_not_mistaken_for_each_other(tmp_path, monkeypatch):
    _suite(monkeypatch, _scenario("a", "A"), _scenario("b", "B"))
    plan = prepare(msgspec.structs.replace(read_knobs({}), suite="own", models="perfect,!rules"), Settings(), now=NOW)
    done = await evaluate(plan, ReportFolder.create(tmp_path, plan.run, now=NOW), Settings(), {})
    assert [(record.text, record.status) for record in done.finished.records] == [("A", "passed"), ("B", "passed")]


@pytest.mark.parametrize(
    ("judge", "own", "message"),
    [
        ("", "", "A rubric needs a judge."),
        ("", "openrouter/x", "The scenarios ask openrouter/x, a real model."),
        ("nobody/x", "", "The model 'nobody/x' that judges or plays a user is not known."),
    ],
)
async def test_a_judge_that_cannot_be_asked_is_told_before_the_first_trial(monkeypatch, judge, own, message):
    _suite(monkeypatch, Scenario(id="a", turns=("Hi",), checks=(RubricCheck(question="Nice?", judge=own),)))
    knobs = msgspec.structs.replace(read_knobs({}), suite="own", models="perfect", judge=judge)
    plan = prepare(knobs, Settings(), now=NOW)
    with pytest.raises(ConfigError) as caught:
        async with open_reach(plan, Settings(), {"OPENROUTER_API_KEY": KEY}):
            pass
    assert caught.value.message == message


async def test_a_gate_looks_at_every_combination_but_the_baseline(tmp_path):
    environ = {"OPENROUTER_MODEL_FILTER": "perfect,long-arguments", "OPENROUTER_SCENARIOS": "smoke"}
    async with played(tmp_path, **environ) as (_, _folder, done):
        assert [cell.model for cell in shortfalls(done.summary, 0.96)] == ["long-arguments"]
        assert [cell.model for cell in shortfalls(done.summary, 0.8)] == []
        assert [cell.model for cell in shortfalls(done.summary, 0.81)] == ["long-arguments"]


async def test_a_budget_that_is_spent_ends_the_run_in_good_order_and_it_can_be_gone_on_with(tmp_path):
    async with played(tmp_path, OPENROUTER_SCENARIOS="smoke") as (server, _, whole):
        environ = {"OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": server.url}
        first = whole.finished.records[0].cost
        knobs = read_knobs({**environ, "OPENROUTER_MODEL_FILTER": "qwen/qwen3-next*,!rules"})
        plan = prepare(knobs, Settings(), now=NOW)
        folder = ReportFolder.create(tmp_path, plan.run, now=NOW)
        stopped = await evaluate(plan, folder, Settings(), environ, max_cost=first)
        assert (len(stopped.finished.records), stopped.finished.left) == (1, 4)
        assert stopped.finished.reason == "the budget is spent"
        done = await evaluate(plan, folder, Settings(), environ)
        assert (len(done.finished.records), done.finished.left) == (5, 0)
        assert done.finished.records[0].started_at == stopped.finished.records[0].started_at


@pytest.mark.requirement("C-053")
async def test_what_is_peculiar_about_a_models_calls_is_on_record(tmp_path):
    async with played(tmp_path, OPENROUTER_SCENARIOS="invalid_json") as (_, _folder, done):
        broken, good = done.finished.records[0].calls
        assert (broken.arguments, broken.error) == ('{"ops": [{"op": "set", ', "INVALID_JSON")
        assert (good.arguments["ops"][0]["value"], good.ok) == ("New", True)


@pytest.mark.requirement("C-054", "C-101")
async def test_a_guarded_call_passes_with_a_shorter_second_try_and_the_fixed_last_sentence(tmp_path):
    async with played(tmp_path, OPENROUTER_SCENARIOS="long_arguments_guard") as (_, _folder, done):
        (record,) = done.finished.records
        assert [(call.error, call.ok) for call in record.calls] == [("ARGUMENTS_TOO_LARGE", False), ("", True)]
        assert (record.text, record.status) == ("Done.", Status.PASSED)
