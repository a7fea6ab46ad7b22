"""The sessions of the memory store, with the registries that they are held to and the results that were too large for them."""

import msgspec

from groundwire.contracts.records import Session, SessionTotals
from groundwire.store.memory_tables import bound, page

_BLOB_BYTES = 64 * 1024 * 1024


class MemorySessions:
    def __init__(self, max_rows: int) -> None:
        self._max_sessions = max_rows
        self._sessions: dict[tuple[str, str], Session] = {}
        self._artifacts: dict[str, bytes] = {}
        self._blobs: dict[tuple[str, str, str], bytes] = {}
        self._blob_bytes = 0

    async def load_session(self, tenant: str, session_id: str) -> Session | None:
        return self._sessions.get((tenant, session_id))

    async def create_session(self, session: Session) -> Session:
        stored = self._sessions.setdefault((session.tenant, session.session_id), session)
        bound(self._sessions, self._max_sessions)
        return stored

    async def save_session(self, session: Session) -> bool:
        key = (session.tenant, session.session_id)
        stored = self._sessions.get(key)
        if stored is None or stored.version != session.version:
            return False
        self._sessions[key] = msgspec.structs.replace(session, version=session.version + 1)
        return True

    async def list_sessions(self, tenant: str, *, before: str = "", limit: int = 50) -> list[Session]:
        rows = (session for session in reversed(self._sessions.values()) if session.tenant == tenant)
        return page(rows, lambda session: (session.session_id,), before, limit)

    async def session_totals(self, tenant: str) -> SessionTotals:
        sessions = [session for session in self._sessions.values() if session.tenant == tenant]
        return SessionTotals(
            total=len(sessions),
            active=sum(session.status == "active" for session in sessions),
            turns=sum(session.turns for session in sessions),
            turns_tracked=sum(len(session.loop_history) for session in sessions),
            calls=sum(session.calls for session in sessions),
            peak_tokens=max((session.peak_tokens for session in sessions), default=0),
        )

    async def save_artifact(self, version: str, body: bytes) -> None:
        self._artifacts.setdefault(version, body)
        bound(self._artifacts, self._max_sessions)

    async def load_artifact(self, version: str) -> bytes | None:
        return self._artifacts.get(version)

    async def save_blob(self, tenant: str, session_id: str, ref: str, body: bytes, *, now: float) -> None:
        replaced = self._blobs.pop((tenant, session_id, ref), b"")
        self._blobs[tenant, session_id, ref] = body
        self._blob_bytes += len(body) - len(replaced)
        while len(self._blobs) > 1 and (self._blob_bytes > _BLOB_BYTES or len(self._blobs) > self._max_sessions):
            self._blob_bytes -= len(self._blobs.pop(next(iter(self._blobs))))

    async def load_blob(self, tenant: str, session_id: str, ref: str) -> bytes | None:
        return self._blobs.get((tenant, session_id, ref))
