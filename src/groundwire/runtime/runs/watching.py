"""A run and its requests with somebody watching. Where nobody is, none of this is called."""

from collections.abc import Awaitable, Callable

import msgspec

from groundwire.contracts.failures import Failure
from groundwire.contracts.ports import Telemetry
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import ModelRequest
from groundwire.contracts.runs import Ended
from groundwire.runtime.runs.state import RunState


class RunWatch:
    """`agent` is the name that its runs are known by; `locate` says of a model's name who is asked, and for what."""

    def __init__(self, telemetry: Telemetry, agent: str, locate: Callable[[str], tuple[str, str]]) -> None:
        self._telemetry = telemetry
        self._agent = agent
        self._locate = locate

    async def run(self, state: RunState, work: Awaitable[None]) -> None:
        provider, model = self._locate(state.options.model)
        run = msgspec.structs.replace(state.run, model=model)
        with self._telemetry.watch_run(run, self._agent, provider) as tell:
            try:
                await work
            finally:
                if state.outcome is not None:
                    tell(Ended(outcome=state.outcome, usage=state.usage, cost=state.cost, failure=state.failure))

    async def request(
        self, request: ModelRequest, conversation: str, work: Awaitable[Reply | Failure]
    ) -> Reply | Failure:
        provider, model = self._locate(request.model)
        asked = msgspec.structs.replace(request, model=model)
        with self._telemetry.watch_request(asked, provider, conversation) as tell:
            said = await work
            tell(said)
        return said
