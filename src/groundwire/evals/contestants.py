"""Who is tried, how it is asked, and what comes back of talking with it. Nothing is judged here."""

from typing import Any

import msgspec
from msgspec import Struct

from groundwire.agent import RunResult
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Provider
from groundwire.contracts.requests import Sampling
from groundwire.runtime.runs.runner import Price


class Conversed(Struct, frozen=True, kw_only=True):
    """What a suite's own way of carrying out a trial gives back: its runs in their order, and what came of them.

    The last run says how it ended.
    """

    results: tuple[RunResult, ...]
    conversation: tuple[Item, ...]
    text: str = ""
    state: Any = None


class Contestant(Struct, frozen=True, kw_only=True):
    """Who is tried and how it is asked: the name by which `models` know it, its settings and its sampling."""

    name: str
    models: Provider
    settings: JsonObject = msgspec.field(default_factory=dict)
    sampling: Sampling = Sampling()
    price: Price | None = None
    is_simulated: bool = False
