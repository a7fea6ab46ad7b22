"""What every endpoint of the gateway needs, made once per process."""

import msgspec
from msgspec import Struct

from groundwire.agent import Agent
from groundwire.codecs.caching import ToolCache
from groundwire.contracts.keys import Caller, Held, Scope
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply, Usage
from groundwire.contracts.requests import ModelRequest
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.answer_tables import AnswerTable
from groundwire.gateway.model_access import check_model
from groundwire.gateway.relay_sessions import RelaySessions
from groundwire.gateway.relay_tables import RelayTables
from groundwire.gateway.schema_checks import SchemaChecks
from groundwire.gateway.steps import Steps
from groundwire.gateway.threads import Threads
from groundwire.providers.router import ModelRouter
from groundwire.runtime.runs.state import add_usage
from groundwire.serving.exchanges import Exchange
from groundwire.serving.keys import KeyRing
from groundwire.serving.tallies import Tally

NOTHING_USED = Usage()
_CHARS = 4
"""So many characters are a token, roughly."""
_EXPECTED = 1024
"""Tokens of an answer that has no bound."""
_MOST_EXPECTED = 1_000_000
"""No model says more, whatever it is allowed to."""


class Services(Struct, frozen=True, kw_only=True):
    """`agent` runs the loop for requests that name tools of the server."""

    models: ModelRouter
    agent: Agent
    keys: KeyRing
    cache: ToolCache
    schemas: SchemaChecks
    clock: Clock
    settings: ServerSettings
    steps: Steps
    threads: Threads
    relay: RelaySessions
    relay_tables: RelayTables
    answers: AnswerTable
    tally: Tally

    async def recognize(self, exchange: Exchange, scope: Scope = "models") -> Caller:
        """Who sends this request; an AccessError if it is not let in."""
        caller = await self.keys.authenticate(exchange.header, exchange.query)
        exchange.tenant = caller.tenant
        caller.check_scope(scope)
        return caller

    async def admit(self, exchange: Exchange, scope: Scope = "models") -> Caller:
        """The same, counted."""
        caller = await self.recognize(exchange, scope)
        if caller.limits:
            await self.keys.admit(caller)
        return caller

    def check_model(self, caller: Caller, name: str) -> None:
        """NotAllowed where the caller's key is for other models."""
        check_model(self.models, caller, name)

    async def hold(self, caller: Caller, request: ModelRequest) -> Held | None:
        """Count what the answer may take, until `charge` says what it took: as much as it may say at most."""
        if not caller.limits:
            return None
        most = request.max_output_tokens
        made = _EXPECTED if most is None else min(max(most, 0), _MOST_EXPECTED)
        usage = add_usage(_estimated(request, 0), Usage(output=made, total=made))
        return await self.keys.hold(caller, tokens=usage.total, money=self._price(request, usage))

    async def charge(self, caller: Caller, held: Held | None, request: ModelRequest, reply: Reply) -> None:
        """Count what an answer took against the limits of its key; by its length where nobody has counted tokens."""
        if not caller.limits:
            return
        usage = reply.usage or _estimated(request, len(msgspec.json.encode(reply.items)))
        await self._charge(caller, held, request, usage)

    async def charge_abandoned(
        self, caller: Caller, held: Held | None, request: ModelRequest, heard: int, used: Usage = NOTHING_USED
    ) -> None:
        """The same for an answer whose caller left: by its length so far, as nobody will hear what it took.

        `used` is what was counted of the steps before, where there were any.
        """
        if caller.limits:
            await self._charge(caller, held, request, add_usage(used, _estimated(request, heard)))

    async def charge_nothing(self, caller: Caller, held: Held | None) -> None:
        """The same for an answer that never was."""
        if held is not None:
            await self.keys.charge(caller, held)

    async def _charge(self, caller: Caller, held: Held | None, request: ModelRequest, usage: Usage) -> None:
        await self.keys.charge(caller, held, tokens=usage.total, money=self._price(request, usage))

    def _price(self, request: ModelRequest, usage: Usage) -> float:
        return self.models.cost_of(request.model, usage) or 0.0


def _estimated(request: ModelRequest, chars: int) -> Usage:
    given, made = len(msgspec.json.encode(request.items)) // _CHARS, chars // _CHARS
    return Usage(input=given, output=made, total=given + made)
