"""What a simulated supplier knows and how it behaves: drawn by a seed, the same for the same seed. Plain data."""

import random
from enum import StrEnum

from msgspec import Struct

from groundwire.apps.supplier.contracts import SourcingRequest

ITEMS = (
    ("帆布手提袋", "印logo"),
    ("不锈钢保温杯", "激光logo"),
    ("抱枕", "数码印花"),
    ("竹砧板", ""),
    ("棒球帽", "刺绣"),
    ("瓦楞纸箱", ""),
)
QUANTITIES = (50, 80, 150, 300, 500, 1000)


class Temper(StrEnum):
    FRIENDLY = "friendly"
    """Answers what is asked."""
    BRISK = "brisk"
    """Names a floor price and leaves the rest to the boss."""
    ELSEWHERE = "elsewhere"
    """Wants to go on in another chat."""
    AWAY = "away"
    """Nobody is there but a machine."""
    CLOSING = "closing"
    """Does not make it any more."""


_TEMPERS = (Temper.FRIENDLY,) * 5 + (Temper.BRISK,) * 3 + (Temper.ELSEWHERE, Temper.AWAY, Temper.CLOSING)


class Sheet(Struct, frozen=True, kw_only=True, rename="camel"):
    """The supplier's hand. Prices are in yuan for one piece, `lead_days` from the order on."""

    temper: Temper
    moq: int
    unit_price: float
    lead_days: int
    sample_fee: int
    custom_moq: int
    """From so many on it customizes; fewer it refuses."""


def draw_request(seed: int, session_id: str) -> SourcingRequest:
    chance = _chance(seed, "request")
    item, want = chance.choice(ITEMS)
    return SourcingRequest(session_id=session_id, item=item, qty=chance.choice(QUANTITIES), want=want)


def draw_sheet(seed: int) -> Sheet:
    chance = _chance(seed, "sheet")
    moq = chance.choice((30, 50, 100, 200, 500))
    return Sheet(
        temper=chance.choice(_TEMPERS),
        moq=moq,
        unit_price=round(chance.uniform(1.5, 40), 1),
        lead_days=chance.choice((3, 5, 7, 10, 15)),
        sample_fee=chance.choice((10, 20, 30, 50)),
        custom_moq=moq * chance.choice((1, 2)),
    )


def _chance(seed: int, part: str) -> random.Random:
    return random.Random(f"{seed}:{part}")  # noqa: S311 - repeatable, protects nothing
