"""From names and a seed to a game that can be played: models, agents and a clock, until it is over."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from groundwire import Provider, Runtime, Settings, SystemClock, open_models
from groundwire.apps.supplier.agents import Roles, SupplierAgents, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import GroundingMode, SourcingRequest
from groundwire.apps.supplier.negotiator import RULES, rules_models
from groundwire.apps.supplier.pipeline import Pipeline
from groundwire.apps.supplier.playing.game import Move, play
from groundwire.apps.supplier.playing.players import PlayedSupplier, RuledSupplier, Supplier
from groundwire.apps.supplier.playing.sheets import Sheet
from groundwire.testing import FakeClock


class Game:
    def __init__(self, pipeline: Pipeline, supplier: Supplier, request: SourcingRequest, clock: FakeClock) -> None:
        self._pipeline = pipeline
        self._supplier = supplier
        self._request = request
        self._clock = clock

    def moves(self, turns: int) -> AsyncIterator[Move]:
        return play(self._pipeline, self._supplier, self._request, self._clock, turns=turns)


@asynccontextmanager
async def open_game(
    settings: Settings,
    request: SourcingRequest,
    sheet: Sheet,
    *,
    bot: str = RULES,
    supplier: str = RULES,
    seed: int = 1,
) -> AsyncIterator[Game]:
    """`bot` and `supplier` are models of the settings, or `rules`. Nothing is kept of it afterwards."""
    clock = FakeClock(SystemClock().now())
    async with AsyncExitStack() as stack:
        models = open_models(settings)
        stack.push_async_callback(models.close)
        strict = with_grounding(settings, GroundingMode.STRICT)
        runtime = await stack.enter_async_context(
            Runtime(supplier_registry(), "memory://", settings=strict, clock=clock)
        )
        asked: Provider = rules_models(clock) if bot == RULES else models
        agents = SupplierAgents(runtime, asked, Roles(bot=bot, summary=bot))
        player: Supplier
        if supplier == RULES:
            player = RuledSupplier(sheet, request, seed)
        else:
            player = PlayedSupplier(supplier, models, sheet, request, seed)
            stack.push_async_callback(player.close)
        yield Game(Pipeline(agents, clock=clock), player, request, clock)
