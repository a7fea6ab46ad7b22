"""A call with somebody watching. Where nobody is, this is not called."""

from collections.abc import Awaitable

from groundwire.contracts.ports import Telemetry
from groundwire.contracts.results import ToolResult
from groundwire.runtime.attempt import Attempt, CallWaits


async def watch_call(telemetry: Telemetry, attempt: Attempt, work: Awaitable[ToolResult]) -> ToolResult:
    with telemetry.watch_call(attempt.call, attempt.turn.conversation_id) as tell:
        try:
            result = await work
        except CallWaits as waits:
            tell(waits.result, True)
            raise
        tell(result, False)
    return result
