"""Call ids under each provider's rule.

An id that obeys stays as it is. Any other is replaced by one made of its digest, so that the call, its result and every
later replay get the same one; and a second use of one id in a conversation becomes an id of its own.
"""

import hashlib
import re
from collections.abc import Container, Iterable
from functools import cache

from msgspec import Struct

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.messages import CallItem, Item, ResultItem

_ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class IdRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a provider takes as a call id; `prefix` begins the ids that we make for it."""

    pattern: str
    prefix: str = "call_"
    length: int = 29


OPENAI_CHAT_IDS = IdRule(pattern=r"[^\s]{1,64}")
"""What servers of this dialect take; OpenAI itself takes less."""
OPENAI_OWN_CHAT_IDS = IdRule(pattern=r"[^\s]{1,40}")
OPENAI_RESPONSES_IDS = IdRule(pattern=r"[^\s]{1,64}")
ANTHROPIC_IDS = IdRule(pattern=r"[A-Za-z0-9_-]{1,64}", prefix="toolu_", length=30)
GEMINI_IDS = IdRule(pattern=r"(?s:.+)")
MISTRAL_IDS = IdRule(pattern=r"[A-Za-z0-9]{9}", prefix="", length=9)


def fit_id(call_id: str, rule: IdRule) -> str:
    """The id itself if the rule allows it, else one that depends on nothing but it."""
    return call_id if re.fullmatch(rule.pattern, call_id) else derived_id(call_id, rule)


def derived_id(seed: str, rule: IdRule) -> str:
    number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest())
    digits: list[str] = []
    for _ in range(rule.length - len(rule.prefix)):
        number, digit = divmod(number, 62)
        digits.append(_ALPHANUMERICS[digit])
    return rule.prefix + "".join(digits)


@cache
def _pattern_of(rule: IdRule) -> re.Pattern[str]:
    return re.compile(rule.pattern)


class IdTable:
    """The ids of one conversation on the wire, and the way back.

    Walk the items in order: `call` for each call, `result` for each result. A result belongs to the latest call of its id.
    """

    __slots__ = ("_backward", "_current", "_losses", "_rule", "_uses", "_valid")

    def __init__(self, rule: IdRule, losses: Losses | None = None) -> None:
        self._rule = rule
        self._valid = _pattern_of(rule).fullmatch
        self._losses = losses
        self._uses: dict[str, int] = {}
        self._current: dict[str, str] = {}
        self._backward: dict[str, str] = {}

    def call(self, call_id: str, path: str = "") -> str:
        use = self._uses.get(call_id, 0)
        self._uses[call_id] = use + 1
        wire = (
            call_id
            if not use and self._valid(call_id)
            else derived_id(f"{call_id}#{use}" if use else call_id, self._rule)
        )
        while wire in self._backward:
            wire = derived_id(f"{wire}#", self._rule)
        self._current[call_id] = wire
        self._backward[wire] = call_id
        if wire != call_id and self._losses is not None:
            self._losses.add("call_id_rewritten", path, f"{call_id!r} is sent as {wire!r}.")
        return wire

    def result(self, call_id: str) -> str:
        wire = self._current.get(call_id)
        return fit_id(call_id, self._rule) if wire is None else wire

    def original(self, wire: str) -> str:
        return self._backward.get(wire, wire)


def unique_id(call_id: str, taken: Container[str]) -> str:
    """Within one response: the id itself, or with a free number behind it; numbers given in a row are skipped fast."""
    if call_id not in taken:
        return call_id
    used, free = 1, 2
    while f"{call_id}_{free}" in taken:
        used, free = free, free * 2
    while free - used > 1:
        middle = (used + free) // 2
        if f"{call_id}_{middle}" in taken:
            used = middle
        else:
            free = middle
    return f"{call_id}_{free}"


def names_by_id(items: Iterable[Item]) -> dict[str, str]:
    """Which tool each call id stands for, as far as the conversation says."""
    names: dict[str, str] = {}
    for item in items:
        if isinstance(item, CallItem):
            names[item.call.call_id] = item.call.name
        elif isinstance(item, ResultItem) and item.name:
            names.setdefault(item.call_id, item.name)
    return names
