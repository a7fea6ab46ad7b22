"""A stage for runs: a model that says one thing per request, in process or behind a socket in each of the four dialects."""

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import asynccontextmanager
from itertools import repeat

from groundwire import Agent, Settings, open_models
from groundwire.testing import Answer, FakeClock, ModelFaults, ScriptedModel, ScriptedProvider, simulator

IN_PROCESS = "in-process"
REMOTE = {
    "openai-chat": ("openai-chat", "gpt-4.1"),
    "openai-responses": ("openai-responses", "gpt-5.2"),
    "anthropic": ("anthropic", "claude-opus-4-6"),
    "gemini": ("gemini", "gemini-3-flash"),  # signs its calls
    "gemini-2.0": ("gemini", "gemini-2.0-flash"),  # gives them no ids
}
UPSTREAMS = (IN_PROCESS, *REMOTE)
SCRIPT_IS_OVER = "(the script is over)"


class Script:
    """Answers by the number of the request, whatever the conversation holds. `asked` is what the model was asked."""

    def __init__(self, answers: Sequence[Answer | str]) -> None:
        self._answers = iter([Answer(answer) if isinstance(answer, str) else answer for answer in answers])
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        return next(self._answers, Answer(SCRIPT_IS_OVER))

    def answer_with(self, text: str) -> None:
        """Whatever was not said yet stays unsaid; from now on it is this."""
        self._answers = repeat(Answer(text))

    @property
    def offered(self) -> list[list[str]]:
        """The names of the tools in each request."""
        return [[tool.name for tool in request.tools] for request in self.asked]


class Stage:
    """`model` and `models` are for an Agent; `script` is what the model was asked, `bodies` how that was written."""

    def __init__(self, model, models, script, running=None) -> None:
        self.model = model
        self.models = models
        self.script = script
        self._running = running

    @property
    def bodies(self):
        return [request.body for request in self._running.requests]

    def agent(self, **options) -> Agent:
        return Agent(self.model, models=self.models, **options)


async def events_of(agent: Agent, prompt: str, how: str, **options):
    """The events of a run, `whole` or `streamed`."""
    if how == "whole":
        return (await agent.run(prompt, **options)).events
    return [event async for event in agent.stream(prompt, **options)]


class CannedStage:
    def __init__(self, model, models, bodies) -> None:
        self.bodies = bodies
        self._model = model
        self._models = models

    def agent(self, **options) -> Agent:
        return Agent(self._model, models=self._models, **options)


@asynccontextmanager
async def staged(upstream: str, *answers: Answer | str, faults: ModelFaults | None = None, attempts: int = 1, **more):
    """A stage with that upstream. `attempts` is how often a request is tried; `more` are settings of its provider."""
    script = Script(answers)
    model = ScriptedModel(otherwise=script, faults=faults)
    if upstream == IN_PROCESS:
        yield Stage("scripted/model", ScriptedProvider(model, clock=FakeClock()), script)
        return
    async with simulator(model=model) as running:
        dialect, name = REMOTE[upstream]
        url = running.openai_url if dialect.startswith("openai") else running.url
        provider = {"dialect": dialect, "baseUrl": url, "retry": {"attempts": attempts, "first": 0.0}, **more}
        models = open_models(Settings(providers={"up": provider}), environ={})
        try:
            yield Stage(f"up/{name}", models, script, running)
        finally:
            await models.close()


@asynccontextmanager
async def canned(*messages: dict, presets: Sequence[str] = (), **more):
    """A server of the chat dialect that gives these assistant messages as they are, however wrong, and checks nothing.

    `presets` are those that the catalogue has for its model.
    """
    left, bodies = iter(messages), []

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        bodies.append(json.loads(await reader.readexactly(size)))
        message = {"role": "assistant", **next(left)}
        data = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n" % len(data) + data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    provider = {"baseUrl": url, "retry": {"attempts": 1}, **more}
    entry = {"id": "some-model", "provider": "up", "presets": presets}
    models = open_models(Settings(providers={"up": provider}, models=[entry]), environ={})
    try:
        yield CannedStage("up/some-model", models, bodies)
    finally:
        await models.close()
        server.close()
        await server.wait_closed()


def verdicts(events) -> list[str]:
    """The calls that were dispatched, each with `ok` or what was wrong with it."""
    return [f"{event.name} {_verdict_on(event.result)}" for event in events if event.event == "call.finished"]


def _verdict_on(result) -> str:
    if result.error is None:
        return "ok"
    return f"{result.error.type}/{result.error.detail}" if result.error.detail else str(result.error.type)
