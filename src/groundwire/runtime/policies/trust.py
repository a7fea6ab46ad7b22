"""Trust: what a model may do with a tool, by the cards of an evaluation.

Where cards do not say, the operator's word for the unknown holds. Several models may answer, and a sampling may fit no
profile: then the least that any of them is trusted with counts.
"""

from collections.abc import Iterable, Iterator

from groundwire.contracts.canonical import canonical_json
from groundwire.contracts.tools import Category, ToolSpec
from groundwire.contracts.trust import Asked, Trust, TrustCard, Trusted, TrustFile, strictest
from groundwire.runtime.clock import to_iso

MAX_GRANTS = 256


def is_kept_from(trusted: Trusted, spec: ToolSpec) -> bool:
    """Whether models so trusted are not offered the tool, and refused it."""
    is_action = spec.category is Category.ACTION
    return trusted.trust is Trust.DENY or (trusted.trust is Trust.READ_ONLY and is_action)


class TrustBook:
    """The cards of one file. `unknown` is for models and tools that no card names, and for all when the file expires."""

    def __init__(self, file: TrustFile, *, unknown: Trust = Trust.ASK, relaxes: bool = False) -> None:
        self._file = file
        self._unknown = unknown
        self.relaxes = relaxes
        self._cards: dict[tuple[str, str], list[TrustCard]] = {}
        for card in file.cards:
            self._cards.setdefault((card.model, card.tool), []).append(card)
        self._models = frozenset(card.model for card in file.cards)
        self._grants: dict[tuple[tuple[str, ...], bytes, bool], CardGrant] = {}

    def grant(self, asked: Asked, *, now: float) -> "CardGrant":
        is_expired = self._file.expires_at <= to_iso(now)
        key = (asked.models, canonical_json(asked.sampling), is_expired)
        found = self._grants.get(key)
        if found is None:
            if len(self._grants) >= MAX_GRANTS:  # callers choose models and sampling
                self._grants.clear()
            found = self._grants[key] = CardGrant(self, asked, is_expired=is_expired)
        return found

    def judge(self, asked: Asked, spec: ToolSpec, *, is_expired: bool) -> Trusted:
        judged = [strictest(self._of_model(model, asked, spec)) for model in asked.models]
        if is_expired:
            judged.append(Trusted(trust=self._unknown, why=f"the trust file expired at {self._file.expires_at}"))
        return strictest(judged)

    def _of_model(self, model: str, asked: Asked, spec: ToolSpec) -> Iterator[Trusted]:
        names = dict.fromkeys((spec.tool_id, spec.wire_name))
        cards = [card for name in names for card in self._cards.get((model, name), ())]
        fitting = [card for card in cards if card.sampling is not None and card.sampling == asked.sampling]
        for card in fitting or cards:
            yield Trusted(trust=card.trust, why=_reason(card))
        if not cards:
            about = f"{model} with {spec.tool_id}" if model in self._models else model
            yield Trusted(trust=self._unknown, why=f"no trust card is about {about}")


class CardGrant:
    __slots__ = ("_asked", "_book", "_is_expired")

    def __init__(self, book: TrustBook, asked: Asked, *, is_expired: bool) -> None:
        self._book = book
        self._asked = asked
        self._is_expired = is_expired

    def judge(self, spec: ToolSpec) -> Trusted:
        return self._book.judge(self._asked, spec, is_expired=self._is_expired)


def is_reliable(trusted: Iterable[Trusted]) -> bool:
    """Whether a model may be made to call: it is trusted with every tool on offer, and there is one."""
    judged = [one.trust for one in trusted]
    return bool(judged) and all(trust is Trust.RELIABLE for trust in judged)


def _reason(card: TrustCard) -> str:
    run = f", {card.evidence.runs[-1]}" if card.evidence.runs else ""
    return f"{card.model} ({card.profile}) is {card.trust} with {card.tool}: {card.why}{run}"
