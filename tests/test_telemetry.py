"""Spans as an observer gets them, and what it costs where there is none."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from groundwire import (
    Agent,
    Context,
    ErrorType,
    Failure,
    FailureKind,
    ProviderError,
    Registry,
    Runtime,
    ToolError,
    open_models,
    tool,
)
from groundwire.telemetry import OpenTelemetry
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider

SECRET = "the-secret-of-the-test"


@tool
def get_weather(city: str) -> dict:
    """The weather of a city."""
    return {"city": city, "sky": SECRET}


@tool
def fail_always() -> dict:
    """Fails."""
    raise ToolError(ErrorType.PERMANENT, SECRET)


@tool
async def ask_twice(city: str, context: Context) -> dict:
    """Calls another tool."""
    return (await context.call("get_weather", {"city": city})).data


@tool(category="action", confirm=True)
def book() -> dict:
    """Books."""
    return {}


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def telemetry(exporter):
    def telemetry(**options):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        return OpenTelemetry(provider, **options)

    return telemetry


def agent_for(telemetry, *answers, name="guide", model="house/m1", **options):
    runtime = Runtime(Registry([get_weather, fail_always, ask_twice, book]), telemetry=telemetry)
    models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
    return Agent(model, name=name, runtime=runtime, models=models, **options)


WEATHER = (Answer(calls=(Ask("get_weather", {"city": "Rome"}),)), "It is sunny.")


@pytest.mark.parametrize("is_live", [True, False])
async def test_a_run_is_a_tree_of_spans(exporter, telemetry, is_live):
    agent = agent_for(telemetry(), *WEATHER)
    if is_live:
        assert [event async for event in agent.stream("Rome?", session="s1")][-1].outcome == "completed"
    else:
        assert (await agent.run("Rome?", session="s1")).ok
    asked, carried, told, run = exporter.get_finished_spans()
    assert [span.name for span in (asked, carried, told, run)] == [
        "chat m1",
        "execute_tool get_weather",
        "chat m1",
        "invoke_agent guide",
    ]
    assert [span.kind for span in (asked, carried, run)] == [SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.INTERNAL]
    assert run.parent is None
    assert {span.parent.span_id for span in (asked, carried, told)} == {run.context.span_id}
    assert asked.attributes["gen_ai.request.stream"] is is_live


async def test_spans_say_what_the_conventions_ask_for(exporter, telemetry):
    agent = agent_for(telemetry(), *WEATHER)
    result = await agent.run("Rome?", session="s1")
    asked, carried, told, run = exporter.get_finished_spans()
    used = [dict(span.attributes) for span in (asked, told)]
    assert dict(run.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "guide",
        "gen_ai.provider.name": "house",
        "gen_ai.request.model": "m1",
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": result.usage.input,
        "gen_ai.usage.output_tokens": result.usage.output,
        "groundwire.run.id": result.run_id,
        "groundwire.run.outcome": "completed",
    }
    assert sum(one["gen_ai.usage.input_tokens"] for one in used) == result.usage.input
    assert used[0] | {"gen_ai.response.id": "", "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "house",
        "gen_ai.request.model": "m1",
        "gen_ai.request.stream": False,
        "gen_ai.conversation.id": "s1",
        "gen_ai.output.type": "text",
        "gen_ai.response.id": "",
        "gen_ai.response.model": "house/m1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
    }
    assert dict(carried.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": result.calls[0].call.call_id,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "s1",
        "groundwire.call.replayed": False,
    }


async def test_every_attribute_is_one_of_the_conventions_or_our_own(exporter, telemetry):
    await agent_for(telemetry(with_content=True), *WEATHER).run("Rome?", sampling={"temperature": 0.5, "top_p": 0.9})
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    said = {name for span in exporter.get_finished_spans() for name in span.attributes}
    assert {name for name in said - known if not name.startswith("groundwire.")} == set()


async def test_content_is_told_only_where_it_was_asked_for(exporter, telemetry):
    await agent_for(telemetry(), *WEATHER, "x").run("Rome?")
    await agent_for(telemetry(), Answer(calls=(Ask("fail_always", {}),)), "no").run("fail")
    assert SECRET not in "".join(span.to_json() for span in exporter.get_finished_spans())
    exporter.clear()
    await agent_for(telemetry(with_content=True), *WEATHER).run("Rome?")
    asked, carried, _, _ = exporter.get_finished_spans()
    assert json.loads(carried.attributes["gen_ai.tool.call.arguments"]) == {"city": "Rome"}
    assert json.loads(carried.attributes["gen_ai.tool.call.result"]) == {"city": "Rome", "sky": SECRET}
    declared = json.loads(asked.attributes["gen_ai.tool.definitions"])
    assert [one["name"] for one in declared] == ["ask_twice", "book", "fail_always", "get_weather"]
    assert declared[3]["parameters"]["required"] == ["city"]


class Echoing:
    """A provider that fails with the words that it was asked."""

    async def complete(self, request, options=None):
        message = f"cannot read {request.items[-1].text}"
        raise ProviderError(Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400))

    async def close(self):
        pass


@pytest.mark.parametrize(("with_content", "said"), [(False, None), (True, f"cannot read {SECRET}")])
async def test_a_providers_words_about_a_failure_are_content(exporter, telemetry, with_content, said):
    runtime = Runtime(Registry(), telemetry=telemetry(with_content=with_content))
    await Agent("house/m1", runtime=runtime, models=Echoing()).run(SECRET)
    asked, run = exporter.get_finished_spans()
    assert (asked.status.description, run.status.description) == (said, said)
    assert (asked.attributes["error.type"], run.attributes["error.type"]) == ("invalid_request", "provider_error")


async def test_what_failed_is_marked_with_its_stable_name(exporter, telemetry):
    await agent_for(telemetry(), Answer(calls=(Ask("fail_always", {}),)), "Sorry.").run("fail")
    carried = exporter.get_finished_spans()[1]
    assert (carried.attributes["error.type"], carried.status.status_code) == ("PERMANENT", StatusCode.ERROR)


@pytest.mark.parametrize(
    ("vendor", "named", "model", "provider"),
    [("OPENAI", "openai/gpt-5", "gpt-5", "openai"), ("GEMINI", "gemini-3-flash", "gemini-3-flash", "gcp.gemini")],
)
async def test_a_provider_that_fails_is_named_as_the_conventions_do(
    exporter, telemetry, vendor, named, model, provider
):
    models = open_models(environ={f"{vendor}_BASE_URL": "http://127.0.0.1:9/v1"})
    runtime = Runtime(Registry(), telemetry=telemetry())
    result = await Agent(named, runtime=runtime, models=models).run("hi")
    asked, run = exporter.get_finished_spans()
    assert result.outcome == "provider_error"
    assert (run.name, run.attributes["error.type"]) == ("invoke_agent", "provider_error")
    assert (asked.name, asked.attributes["error.type"]) == (f"chat {model}", result.failure.kind.value)
    for span in (asked, run):
        assert (span.attributes["gen_ai.provider.name"], span.attributes["gen_ai.request.model"]) == (provider, model)


async def test_a_call_that_waits_is_no_error(exporter, telemetry):
    agent = agent_for(telemetry(), Answer(calls=(Ask("book", {}),)), "Booked.")
    waiting = await agent.run("book", session="s1")
    carried, run = exporter.get_finished_spans()[1:]
    assert (carried.attributes["groundwire.call.waiting"], carried.status.status_code) == (True, StatusCode.UNSET)
    assert run.attributes["groundwire.run.outcome"] == "awaiting_approval"
    assert run.status.status_code is StatusCode.UNSET
    exporter.clear()
    await agent.runtime.approve(waiting.approvals[0], by="ada")
    assert (await agent.resume(waiting.run_id)).ok
    assert [span.name for span in exporter.get_finished_spans()] == [
        "execute_tool book",
        "chat m1",
        "invoke_agent guide",
    ]


async def test_a_tools_own_call_is_a_span_below_its_own(exporter, telemetry):
    async with Runtime(Registry([get_weather, ask_twice]), telemetry=telemetry()) as runtime:
        assert (await runtime.call("ask_twice", {"city": "Rome"})).ok
    inner, outer = exporter.get_finished_spans()
    assert (inner.name, outer.name) == ("execute_tool get_weather", "execute_tool ask_twice")
    assert inner.parent.span_id == outer.context.span_id


async def test_a_cancelled_run_ends_its_spans(exporter, telemetry):
    began = asyncio.Event()

    @tool
    async def wait() -> dict:
        """Waits."""
        began.set()
        await asyncio.Event().wait()
        return {}

    runtime = Runtime(Registry([wait]), telemetry=telemetry())
    models = ScriptedProvider(ScriptedModel(Answer(calls=(Ask("wait", {}),)), "x"), clock=FakeClock())
    task = asyncio.create_task(Agent("m", runtime=runtime, models=models).run("wait"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, carried, run = exporter.get_finished_spans()
    assert (carried.attributes["error.type"], run.attributes["error.type"]) == ("cancelled", "cancelled")
    assert run.attributes["groundwire.run.outcome"] == "cancelled"


@pytest.mark.parametrize(
    ("environ", "setting", "is_told"),
    [
        ({}, False, False),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}, False, True),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}, False, True),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"}, False, False),
        ({}, True, True),
    ],
)
def test_content_is_asked_for_by_variable_or_setting(environ, setting, is_told):
    script = """
import json, sys
from groundwire.telemetry import open_telemetry
print(open_telemetry(json.loads(sys.argv[1]), with_content=sys.argv[2] == "True")._with_content)
"""
    given = json.dumps({"OTEL_TRACES_EXPORTER": "console", **environ})
    run = subprocess.run(
        [sys.executable, "-c", script, given, str(setting)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(is_told)


LOADED = """
import sys
from groundwire import Agent, tool
@tool
def ping() -> str:
    "Pings."
    return "pong"
agent = Agent("sim", tools=[ping])
assert agent.run_sync("ping").ok
print(agent.runtime.telemetry is None, any(name.split(".")[0] == "opentelemetry" for name in sys.modules))
"""


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nothing_is_imported_where_nothing_is_configured(environ):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "GROUNDWIRE_"))}
    run = subprocess.run(
        [sys.executable, "-c", LOADED], env=clean | environ, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["True", "False"]


def test_variables_alone_switch_it_on():
    run = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=os.environ | {"OTEL_TRACES_EXPORTER": "console"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "False True" in run.stdout
    assert '"name": "execute_tool ping"' in run.stdout


def test_a_missing_package_is_no_reason_to_fail():
    blocked = "import sys; sys.modules['opentelemetry'] = None\n" + LOADED
    run = subprocess.run(
        [sys.executable, "-c", blocked],
        env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split()[0] == "True"
