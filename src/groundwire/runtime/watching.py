"""A call with somebody watching. Where nobody is, this is not called."""

from collections.abc import Awaitable

from groundwire.contracts.ports import Telemetry
from groundwire.contracts.results import ToolResult
from groundwire.runtime.attempt import Attempt, CallWaits


async def watch_call(telemetry: Telemetry, attempt: Attempt, work: Awaitable[ToolResult]) -> ToolResult:
    waits: CallWaits | None = None
    with telemetry.watch_call(attempt.call, attempt.turn.conversation_id) as tell:
        try:
            result = await work
        except CallWaits as waiting:  # which is no error
            waits, result = waiting, waiting.result
        tell(result, waits is not None)
    if waits is not None:
        raise waits
    return result
