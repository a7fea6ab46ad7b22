"""The keys of the memory store. Their number is bounded too, but none is dropped: a key that is gone is no key."""

import threading

import msgspec

from groundwire.contracts.errors import StoreError
from groundwire.contracts.keys import ApiKey, KeySpend, OverLimit
from groundwire.contracts.records import AuditEntry
from groundwire.store.key_limits import UNUSED, Use, take, usage_at
from groundwire.store.memory_records import MemoryRecords
from groundwire.store.memory_tables import page
from groundwire.store.rules import key_exists


class MemoryKeys:
    """The port `KeyStore` in memory."""

    _records: MemoryRecords

    def __init__(self, max_keys: int) -> None:
        self._max_keys = max_keys
        self._key_lock = threading.Lock()  # loops in other threads may share it
        self._keys: dict[str, ApiKey] = {}
        self._key_ids: dict[str, str] = {}
        self._key_uses: dict[str, list[Use]] = {}
        self._key_changes = 0

    async def create_key(self, key: ApiKey, *, entry: AuditEntry | None = None) -> None:
        with self._key_lock:
            if key.key_id in self._keys or key.digest in self._key_ids:
                raise key_exists(key)
            if len(self._keys) >= self._max_keys:
                raise StoreError(f"there are {self._max_keys} keys in memory already", hint="Use a database.")
            self._keys[key.key_id] = key
            self._key_ids[key.digest] = key.key_id
            self._key_uses[key.key_id] = [UNUSED] * len(key.limits)
            self._changed(entry)

    async def find_key(self, digest: str) -> ApiKey | None:
        return self._keys.get(self._key_ids.get(digest, ""))

    async def list_keys(self, tenant: str, *, before: str = "", limit: int = 50) -> list[ApiKey]:
        rows = (key for key in reversed(self._keys.values()) if key.tenant == tenant)
        return page(rows, lambda key: (key.key_id,), before, limit)

    async def revoke_key(self, tenant: str, key_id: str, *, now: float, entry: AuditEntry | None = None) -> bool:
        with self._key_lock:
            key = self._keys.get(key_id)
            if key is None or key.tenant != tenant or key.revoked_at is not None:
                return False
            self._keys[key_id] = msgspec.structs.replace(key, revoked_at=now)
            self._changed(entry)
            return True

    def _changed(self, entry: AuditEntry | None) -> None:
        self._key_changes += 1
        if entry is not None:
            self._records.chain.append(entry)

    async def keys_version(self) -> int:
        return self._key_changes

    async def spend(self, spend: KeySpend) -> OverLimit | None:
        with self._key_lock:
            over, uses = take(spend, self._key_uses.get(spend.key_id, []))
            self._key_uses[spend.key_id] = uses
            return over

    async def key_usage(self, key: ApiKey, *, now: float) -> list[float]:
        return usage_at(key, self._key_uses.get(key.key_id, []), now)
