"""The effect ledger of the memory store. Settled effects are bounded; reserved and unknown ones never go by themselves."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from groundwire.contracts.records import Effect, EffectStatus, Transition
from groundwire.store.rules import accepts, is_lapsed, lapsed

Key: TypeAlias = tuple[str, str, str]


class MemoryEffects:
    """In the order in which their keys were first reserved."""

    def __init__(self, max_settled: int) -> None:
        self._max_settled = max_settled
        self._effects: dict[Key, Effect] = {}
        self._settled = 0

    def look_up(self, key: Key, now: float) -> Effect | None:
        """The effect of that key; one whose lease ran out has become unknown."""
        effect = self._effects.get(key)
        if effect is not None and is_lapsed(effect, now):
            effect = self._effects[key] = lapsed(effect)
        return effect

    def get(self, tenant: str, effect_id: str) -> Effect | None:
        return next((effect for effect in self.newest_first(tenant) if effect.effect_id == effect_id), None)

    def newest_first(self, tenant: str) -> Iterable[Effect]:
        return (effect for effect in reversed(self._effects.values()) if effect.tenant == tenant)

    def put(self, effect: Effect) -> None:
        self._effects[effect.tenant, effect.tool, effect.key] = effect

    def renew(self, owner: str, keys: Sequence[tuple[str, str, str]], now: float, lease_until: float) -> int:
        held = [
            effect
            for key in keys
            if (effect := self._effects.get(key)) is not None
            and (effect.owner, effect.status) == (owner, EffectStatus.RESERVED)
            and effect.lease_until > now
        ]
        for effect in held:
            self.put(replace(effect, lease_until=lease_until, updated_at=now))
        return len(held)

    def lapse(self, tenant: str, now: float) -> None:
        for key, effect in self._effects.items():
            if effect.tenant == tenant and is_lapsed(effect, now):
                self._effects[key] = lapsed(effect)

    def apply(self, transition: Transition) -> bool:
        key = (transition.tenant, transition.tool, transition.key)
        effect = self._effects.get(key)
        if effect is None or not accepts(effect, transition):
            return False
        self.become(key, effect, transition)
        return True

    def become(self, key: Key, effect: Effect, transition: Transition, by: str = "") -> None:
        status = transition.status
        if status is None:
            del self._effects[key]
            return
        self._effects[key] = replace(
            effect,
            status=status,
            result=transition.result,
            note=transition.note,
            decided_by=by,
            updated_at=transition.now,
        )
        if status is EffectStatus.SETTLED:
            self._settled += 1
            if self._settled > self._max_settled:
                self._drop(list(islice(self._settled_keys(), self._max_settled // 10)))

    def forget(self, settled_before: float) -> int:
        old = [key for key in self._settled_keys() if self._effects[key].updated_at < settled_before]
        self._drop(old)
        return len(old)

    def _settled_keys(self) -> Iterator[Key]:
        return (key for key, effect in self._effects.items() if effect.status == EffectStatus.SETTLED)

    def _drop(self, settled: Sequence[Key]) -> None:
        for key in settled:
            del self._effects[key]
        self._settled -= len(settled)
