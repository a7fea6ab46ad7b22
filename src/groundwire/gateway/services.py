"""What every endpoint of the gateway needs, made once per process."""

import msgspec
from msgspec import Struct

from groundwire.agent import Agent
from groundwire.codecs.caching import ToolCache
from groundwire.contracts.keys import EVERYTHING, Caller, Scope
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply, Usage
from groundwire.contracts.requests import ModelRequest
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.answer_tables import AnswerTable
from groundwire.gateway.relay_sessions import RelaySessions
from groundwire.gateway.relay_tables import RelayTables
from groundwire.gateway.steps import Steps
from groundwire.gateway.threads import Threads
from groundwire.providers.router import ModelRouter
from groundwire.serving.exchanges import Exchange
from groundwire.serving.keys import KeyRing
from groundwire.serving.tallies import Tally

_CHARS = 4
"""So many characters are a token, roughly."""


class Services(Struct, frozen=True, kw_only=True):
    """`agent` runs the loop for requests that name tools of the server."""

    models: ModelRouter
    agent: Agent
    keys: KeyRing
    cache: ToolCache
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
        caller = await self.keys.authenticate(exchange.headers.get, exchange.query)
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
        if caller.models != EVERYTHING:
            caller.check_model(name, "/".join(self.models.locate(name)))

    async def charge(self, caller: Caller, request: ModelRequest, reply: Reply) -> None:
        """Count what an answer took against the limits of its key; by its length where nobody has counted tokens."""
        if not caller.limits:
            return
        usage = reply.usage or _estimated(request, len(msgspec.json.encode(reply.items)))
        await self._charge(caller, request, usage)

    async def charge_abandoned(self, caller: Caller, request: ModelRequest, heard: int) -> None:
        """The same for an answer whose caller left: by its length so far, as nobody will hear what it took."""
        if caller.limits:
            await self._charge(caller, request, _estimated(request, heard))

    async def _charge(self, caller: Caller, request: ModelRequest, usage: Usage) -> None:
        money = self.models.cost_of(request.model, usage) or 0.0
        await self.keys.charge(caller, tokens=usage.total, money=money)


def _estimated(request: ModelRequest, chars: int) -> Usage:
    given, made = len(msgspec.json.encode(request.items)) // _CHARS, chars // _CHARS
    return Usage(input=given, output=made, total=given + made)
