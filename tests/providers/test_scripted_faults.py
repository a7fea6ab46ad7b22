"""The scripted model in process, with faults: what comes out is what an HTTP provider would report."""

import asyncio

import pytest

from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import say
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyStarted, ReplyTextDelta
from groundwire.contracts.requests import FunctionTool, ModelRequest, SendOptions
from groundwire.providers.endpoints import Endpoint
from groundwire.providers.faults import PAGE, read_fault
from groundwire.providers.http import HttpProvider
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import Timeouts
from groundwire.runtime.clock import SystemClock
from groundwire.testing import (
    Answer,
    Ask,
    FakeClock,
    Fault,
    FaultKind,
    ModelFaults,
    ScriptedModel,
    ScriptedProvider,
    simulator,
)

LIMIT = 20
FIND = FunctionTool(name="find", parameters={"type": "object", "properties": {"q": {"type": "string"}}})
REQUEST = ModelRequest(model="m", items=(say("user", "hi"),), tools=(FIND,))
ANSWER = Answer("Let me look.", (Ask("find", {"q": "x"}), Ask("find", {"q": "y"})))


def scripted(*, clock=None, answer=ANSWER, **fault):
    model = ScriptedModel(answer, faults=ModelFaults(at={0: Fault(**fault)}))
    return ScriptedProvider(model, clock=clock or FakeClock(), piece=4)


async def failure_of(asking):
    with pytest.raises(ProviderError) as caught:
        await asking
    return caught.value.failure


async def collect(parts, seen):
    async for part in parts:
        seen.append(part)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, FailureKind.RATE_LIMIT), (500, FailureKind.SERVER), (529, FailureKind.OVERLOADED)],
)
async def test_an_error_status_is_reported_with_its_hint_and_met_once(status, kind):
    made = scripted(kind=FaultKind.STATUS, status=status, retry_after=1.5)
    failure = await failure_of(made.complete(REQUEST))
    assert (failure.status, failure.kind, failure.retry_after, failure.retryable) == (status, kind, 1.5, True)
    assert (await made.complete(REQUEST)).text == "Let me look."


@pytest.mark.parametrize(
    ("pause", "patience", "slept", "kind"),
    [
        (30, 20, 20, FailureKind.TIMEOUT),
        (20, 20, 20, FailureKind.BAD_RESPONSE),
        (None, None, 120, FailureKind.TIMEOUT),
        (None, 0, 600, FailureKind.BAD_RESPONSE),
    ],
)
async def test_silence_lasts_until_the_caller_gives_up_or_the_server_does(pause, patience, slept, kind):
    clock = FakeClock()
    made = scripted(clock=clock, kind=FaultKind.TIMEOUT, pause=pause)
    asking = asyncio.ensure_future(made.complete(REQUEST, SendOptions(timeout=patience)))
    await asyncio.sleep(0)
    clock.advance(slept - 0.001)
    await asyncio.sleep(0)
    assert not asking.done()
    clock.advance(0.002)
    assert (await failure_of(asking)).kind is kind


async def test_a_cut_stream_gives_what_fitted_and_then_breaks():
    seen = []
    failure = await failure_of(collect(scripted(kind=FaultKind.CUT, at_byte=8).stream(REQUEST), seen))
    assert [part.text for part in seen if isinstance(part, ReplyTextDelta)] == ["Let ", "me l"]
    assert (failure.kind, failure.status) == (FailureKind.BAD_RESPONSE, 0)


@pytest.mark.parametrize("at_byte", [0, 3])
async def test_a_stream_that_is_cut_before_its_first_piece_gives_nothing_at_all(at_byte):
    seen = []
    await failure_of(collect(scripted(kind=FaultKind.CUT, at_byte=at_byte).stream(REQUEST), seen))
    assert seen == []


async def test_a_cut_that_comes_late_still_keeps_the_end_back():
    seen = []
    await failure_of(collect(scripted(kind=FaultKind.CUT, at_byte=10_000).stream(REQUEST), seen))
    assert isinstance(seen[0], ReplyStarted)
    assert not any(isinstance(part, ReplyEnded) for part in seen)
    assert (await failure_of(scripted(kind=FaultKind.CUT).complete(REQUEST))).kind is FailureKind.BAD_RESPONSE


async def test_a_web_page_is_no_answer_and_comes_along_for_the_operator():
    failure = await failure_of(scripted(kind=FaultKind.WRONG_CONTENT_TYPE).complete(REQUEST))
    assert (failure.kind, failure.status, failure.body) == (FailureKind.BAD_RESPONSE, 502, PAGE.decode())


async def test_faults_of_the_content_are_those_of_the_server():
    truncated = await scripted(kind=FaultKind.TRUNCATED_CALL).complete(REQUEST)
    malformed = await scripted(kind=FaultKind.MALFORMED_CALL).complete(REQUEST)
    empty = await scripted(kind=FaultKind.EMPTY).complete(REQUEST)
    leaked = await scripted(kind=FaultKind.THINKING_LEAK).complete(REQUEST)
    assert ([item.complete for item in truncated.calls], truncated.finish.reason) == ([True, False], "length")
    assert malformed.calls[1].call.raw == '{"q":"y",}'
    assert (empty.items, empty.finish.reason) == ((), FinishReason.END)
    assert leaked.text.endswith("</think>Let me look.")


async def test_equal_ids_are_told_apart_as_by_every_client():
    reply = await scripted(kind=FaultKind.DUPLICATE_IDS).complete(REQUEST)
    first, second = (item.call.call_id for item in reply.calls)
    assert second == f"{first}_2"


@pytest.mark.parametrize(("patience", "done"), [(2.75, False), (3.0, True)])
async def test_a_slow_answer_takes_its_time_and_no_more_than_it_is_given(patience, done):
    """A reply of one piece has four parts: its beginning, the text, the text's end, and the end."""
    clock = FakeClock()
    made = scripted(clock=clock, answer=Answer("Yes."), kind=FaultKind.SLOW_DRIP, pause=0.75)
    asking = asyncio.ensure_future(made.complete(REQUEST, SendOptions(timeout=patience)))
    async with asyncio.timeout(LIMIT):
        while not asking.done():
            await asyncio.sleep(0)
            if clock.sleepers:
                clock.advance(0.25)
    if done:
        assert asking.result().text == "Yes."
    else:
        assert (await failure_of(asking)).kind is FailureKind.TIMEOUT


WITH_AN_END = [kind for kind in FaultKind if kind is not FaultKind.TIMEOUT]


async def outcome(provider):
    try:
        reply = await provider.complete(REQUEST)
    except ProviderError as error:
        failure = error.failure
        return failure.kind, failure.status, failure.retry_after, failure.retryable
    calls = [(item.call.name, item.call.raw, item.complete) for item in reply.calls]
    return reply.text, calls, reply.finish.reason


@pytest.mark.parametrize("kind", WITH_AN_END)
async def test_in_process_and_over_http_the_same_comes_out(kind):
    fault = Fault(kind=kind, status=529, retry_after=2, pause=0)
    async with simulator(ANSWER, faults=ModelFaults(at={0: fault})) as running:
        timeouts = Timeouts(total=LIMIT)
        endpoint = Endpoint(
            name="sim",
            dialect="openai-responses",
            base_url=running.openai_url,
            timeouts=timeouts,
            retry=RetryPolicy(attempts=1),
        )
        remote = HttpProvider(endpoint, SocketTransport(timeouts), clock=SystemClock())
        over_http = await outcome(remote)
        await remote.close()
    assert await outcome(scripted(kind=kind, status=529, retry_after=2, pause=0)) == over_http


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("status:400", Fault(kind=FaultKind.STATUS, status=400)),
        ("status:599", Fault(kind=FaultKind.STATUS, status=599)),
        ("status", Fault(kind=FaultKind.STATUS, status=500)),
        ("cut:0", Fault(kind=FaultKind.CUT, at_byte=0)),
        ("timeout:0.5", Fault(kind=FaultKind.TIMEOUT, pause=0.5)),
        ("slow_drip:2", Fault(kind=FaultKind.SLOW_DRIP, pause=2)),
        ("empty", Fault(kind=FaultKind.EMPTY)),
    ],
)
def test_a_fault_can_be_written_as_a_word_and_a_number(text, fault):
    assert read_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boom", "There is no fault 'boom'."),
        ("", "There is no fault ''."),
        ("empty:1", "The fault empty takes no number."),
        ("status:399", "The fault 'status:399' must have an error status, 400 to 599 behind the colon."),
        ("status:600", "The fault 'status:600' must have an error status, 400 to 599 behind the colon."),
        ("status:", "The fault 'status:' must have an error status, 400 to 599 behind the colon."),
        ("cut:-1", "The fault 'cut:-1' must have a number of bytes behind the colon."),
        ("timeout:nan", "The fault 'timeout:nan' must have seconds behind the colon."),
    ],
)
def test_a_word_that_names_no_fault_is_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        read_fault(text)
    assert caught.value.message == message
