import pytest
from msgspec.structs import replace

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    TextPart,
    say,
)
from groundwire.contracts.replies import ReplyEnded
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    SendOptions,
    ToolChoice,
)
from groundwire.providers.catalogue import Catalogue, ModelEntry
from groundwire.providers.router import ModelRouter, without_private
from groundwire.providers.scripted import ScriptedModel, ScriptedProvider
from groundwire.providers.scripts import Answer, Rule
from groundwire.testing import FakeClock


class Recording(ScriptedProvider):
    """A scripted provider that keeps what it was asked."""

    def __init__(self, *answers, rules=()):
        super().__init__(ScriptedModel(*answers, rules=rules), clock=FakeClock())
        self.asked = []
        self.closed = False

    async def complete(self, request, options=SendOptions()):  # noqa: B008 - a frozen value
        self.asked.append(request)
        return await super().complete(request, options)

    async def stream(self, request, options=SendOptions()):  # noqa: B008 - a frozen value
        self.asked.append(request)
        async for part in super().stream(request, options):
            yield part

    async def close(self):
        self.closed = True


def failing(kind):
    return Answer(failure=Failure(kind=kind, message="no"))


def router(first, second):
    entries = (
        ModelEntry(id="main", provider="one", fallbacks=("spare",)),
        ModelEntry(id="spare", provider="two", model="spare-1"),
    )
    return ModelRouter(Catalogue(entries, providers=("one", "two")), {"one": first, "two": second})


REQUEST = ModelRequest(model="main", items=(say("user", "hi"),))
FINAL = {FailureKind.INVALID_REQUEST, FailureKind.TOO_LARGE, FailureKind.CONTENT_FILTER, FailureKind.CANCELLED}


async def test_the_named_model_is_asked_under_its_own_name():
    first = Recording("hello")
    reply = await router(first, Recording()).complete(REQUEST)
    assert reply.text == "hello"
    assert reply.warnings == ()
    assert [request.model for request in first.asked] == ["main"]


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - FINAL))
async def test_a_model_that_fails_is_followed_by_its_fallback_and_the_reply_says_so(kind):
    second = Recording("from the spare")
    reply = await router(Recording(failing(kind)), second).complete(REQUEST)
    assert reply.text == "from the spare"
    assert [request.model for request in second.asked] == ["spare-1"]
    assert [warning.code for warning in reply.warnings] == ["fallback_used"]


@pytest.mark.parametrize("kind", sorted(FINAL))
async def test_a_wrong_request_is_not_asked_elsewhere(kind):
    second = Recording("x")
    with pytest.raises(ProviderError) as caught:
        await router(Recording(failing(kind)), second).complete(REQUEST)
    assert caught.value.failure.kind == kind
    assert second.asked == []


async def test_the_last_failure_is_the_one_that_is_reported():
    with pytest.raises(ProviderError) as caught:
        await router(Recording(failing(FailureKind.SERVER)), Recording(failing(FailureKind.QUOTA))).complete(REQUEST)
    assert caught.value.failure.kind == FailureKind.QUOTA


async def test_a_fallback_that_is_not_set_up_costs_nothing_while_the_first_model_answers():
    made = router(Recording("fine"), Recording())
    reply = await made.complete(REQUEST, SendOptions(fallbacks=("claude-opus-5", "nobody/x")))
    assert (reply.text, reply.warnings) == ("fine", ())


async def test_a_fallback_that_is_not_set_up_never_hides_the_real_failure_and_the_next_is_tried():
    with pytest.raises(ProviderError) as caught:
        await router(Recording(failing(FailureKind.RATE_LIMIT)), Recording()).complete(
            REQUEST, SendOptions(fallbacks=("claude-opus-5",))
        )
    assert caught.value.failure.kind == FailureKind.RATE_LIMIT
    options = SendOptions(fallbacks=("claude-opus-5", "spare"))
    reply = await router(Recording(failing(FailureKind.RATE_LIMIT)), Recording("from the spare")).complete(
        REQUEST, options
    )
    assert reply.text == "from the spare"


async def test_when_nobody_answers_the_error_says_what_each_model_came_to():
    first, second = Recording(failing(FailureKind.RATE_LIMIT)), Recording(failing(FailureKind.SERVER))
    options = SendOptions(fallbacks=("claude-opus-5", "spare"))
    with pytest.raises(ProviderError) as caught:
        await router(first, second).complete(REQUEST, options)
    assert caught.value.failure.kind is FailureKind.SERVER
    assert caught.value.message == (
        "No model answered. main: no claude-opus-5: The model 'claude-opus-5' is not known: "
        "no key and no base URL for anthropic is set. spare: no"
    )
    first, second = Recording(failing(FailureKind.RATE_LIMIT)), Recording(failing(FailureKind.SERVER))
    with pytest.raises(ProviderError) as streamed:
        _ = [part async for part in router(first, second).stream(REQUEST, options)]
    assert streamed.value.failure == caught.value.failure


async def test_a_name_that_leads_nowhere_goes_to_its_fallback_and_is_reported_without_one():
    made = router(Recording(), Recording("from the spare"))
    unknown = ModelRequest(model="claude-opus-5", items=REQUEST.items)
    assert (await made.complete(unknown, SendOptions(fallbacks=("spare",)))).text == "from the spare"
    with pytest.raises(ProviderError, match="claude-opus-5"):
        await made.complete(unknown)


async def test_fallbacks_of_the_request_come_before_those_of_the_catalogue():
    second = Recording("x")
    options = SendOptions(fallbacks=("two/other",))
    await router(Recording(failing(FailureKind.SERVER)), second).complete(REQUEST, options)
    assert [request.model for request in second.asked] == ["other"]


async def test_a_stream_falls_back_before_its_first_piece_and_ends_with_the_note():
    made = router(Recording(failing(FailureKind.OVERLOADED)), Recording("spare words"))
    parts = [part async for part in made.stream(REQUEST)]
    assert isinstance(parts[-1], ReplyEnded)
    assert parts[-1].reply.text == "spare words"
    assert [warning.code for warning in parts[-1].reply.warnings] == ["fallback_used"]


async def test_a_fallback_gets_the_conversation_without_what_only_the_first_model_can_read():
    private = {"gemini": {"thoughtSignature": "x"}}
    items = (
        say("user", "hi"),
        ReasoningItem(text="hm", private=private),
        Message(role="assistant", parts=(TextPart(text="so", private=private),), private=private),
        CallItem(call=ToolCall(call_id="a", name="f", raw="{}"), private=private),
        NativeItem(origin="gemini", value={"x": 1}),
    )
    # Both scripts begin with the step that the conversation has behind it.
    second = Recording("", "x")
    made = router(Recording("", failing(FailureKind.SERVER)), second)
    await made.complete(ModelRequest(model="main", items=items))
    public = second.asked[0].items
    assert public == without_private(items)
    assert [item.kind for item in public] == ["message", "reasoning", "message", "call"]
    assert "thoughtSignature" not in repr(public)
    assert public[3].call == items[3].call


async def test_a_provider_that_is_not_set_up_is_a_named_error():
    made = ModelRouter(Catalogue(providers=("one",), default_provider="one"), {})
    with pytest.raises(ProviderError, match="No provider is set up for 'one/x'"):
        await made.complete(ModelRequest(model="x"))


async def test_closing_closes_all():
    first, second = Recording(), Recording()
    await router(first, second).close()
    assert (first.closed, second.closed) == (True, True)


def test_signatures_of_media_and_citations_do_not_go_to_a_fallback():
    private = {"gemini": {"thoughtSignature": "secret"}}
    parts = (
        MediaPart(media_type="image/png", data=b"x", private=private),
        TextPart(text="t", citations=(Citation(url="u", private=private),)),
    )
    (public,) = without_private((Message(role="assistant", parts=parts),))
    assert "secret" not in repr(public)
    assert [part.kind for part in public.parts] == [part.kind for part in parts]


OWN = {"gemini": {"x": 1}}
WITH_OPTIONS = ModelRequest(
    model="main",
    items=(say("user", "hi"),),
    instructions=(TextPart(text="be brief", private=OWN),),
    tools=(FunctionTool(name="f", private=OWN), NativeTool(origin="gemini", value={"googleSearch": {}})),
    tool_choice=ToolChoice(mode="required", private=OWN),
    output=OutputFormat(type="json", private=OWN),
    reasoning=ReasoningOptions(effort="low", private=OWN),
    extras={"gemini": {"safetySettings": []}},
)


async def test_another_provider_gets_the_request_without_what_only_the_first_one_knows():
    second = Recording("x")
    await router(Recording(failing(FailureKind.SERVER)), second).complete(WITH_OPTIONS)
    assert second.asked == [
        ModelRequest(
            model="spare-1",
            items=(say("user", "hi"),),
            instructions=(TextPart(text="be brief"),),
            tools=(FunctionTool(name="f"),),
            tool_choice=ToolChoice(mode="required"),
            output=OutputFormat(type="json"),
            reasoning=ReasoningOptions(effort="low"),
        )
    ]


async def test_a_choice_among_tools_goes_with_the_last_of_them():
    second = Recording("x")
    only_native = replace(WITH_OPTIONS, tools=WITH_OPTIONS.tools[1:])
    await router(Recording(failing(FailureKind.SERVER)), second).complete(only_native)
    assert (second.asked[0].tools, second.asked[0].tool_choice) == ((), None)


async def test_another_model_of_the_same_provider_keeps_its_options():
    first = Recording(rules=(Rule("hi", failing(FailureKind.SERVER)),))
    with pytest.raises(ProviderError):
        await router(first, Recording()).complete(WITH_OPTIONS, SendOptions(fallbacks=("one/small",)))
    assert [request.model for request in first.asked] == ["main", "small"]
    assert first.asked[1] == replace(first.asked[0], model="small")


@pytest.mark.parametrize(
    "extras",
    [
        {"openai-responses": {"previous_response_id": "resp_1"}},
        {"openai-responses": {"conversation": "conv_1"}},
        {"gemini": {"cachedContent": "cachedContents/1"}},
        {"anthropic": {"thread": "thread_1"}},
        {"anthropic": {"container": "container_1"}},
    ],
)
async def test_a_conversation_that_only_the_provider_has_is_never_continued_elsewhere(extras):
    first, second = Recording(rules=(Rule("hi", failing(FailureKind.SERVER)),)), Recording("x")
    bound = ModelRequest(model="main", items=(say("user", "hi"),), extras=extras)
    with pytest.raises(ProviderError) as caught:
        await router(first, second).complete(bound, SendOptions(fallbacks=("spare", "one/small")))
    assert caught.value.failure.kind is FailureKind.SERVER
    assert ([request.model for request in first.asked], second.asked) == (["main", "small"], [])


@pytest.mark.parametrize("timeout", [-1, -0.001, 86_400.5, float("nan"), float("inf")])
def test_a_time_limit_that_is_none_is_refused_by_its_name(timeout):
    with pytest.raises(ConfigError) as caught:
        SendOptions(timeout=timeout)
    assert caught.value.message == f"timeout must be seconds from 0 to 86400, not {timeout}."
    assert [SendOptions(timeout=fine).timeout for fine in (0, 86_400)] == [0, 86_400]


async def test_closed_models_do_not_answer():
    first = Recording("hello")
    models = router(first, Recording())
    await models.close()
    with pytest.raises(ConfigError, match=r"These models are closed\."):
        await models.complete(REQUEST)
    with pytest.raises(ConfigError, match=r"These models are closed\."):
        [part async for part in models.stream(REQUEST)]
    assert first.asked == []
