"""Rows of the host: one for each conversation, changed only by whoever saw it last, and the bytes of media beside it."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from groundwire import Database
from groundwire.apps.supplier.contracts import HistoryEntry, Media
from groundwire.apps.supplier.host.conversations import Conversation
from groundwire.apps.supplier.media import is_of_use

APP = "supplier_host"
SCRIPTS = (
    (
        "0001_conversations",
        """
        CREATE TABLE supplier_conversations (
            tenant TEXT NOT NULL,
            session_id TEXT NOT NULL,
            version BIGINT NOT NULL,
            status TEXT NOT NULL,
            opened_at DOUBLE PRECISION NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (tenant, session_id)
        );
        CREATE INDEX supplier_conversations_by_age ON supplier_conversations (tenant, opened_at, session_id);
        CREATE TABLE supplier_media (
            tenant TEXT NOT NULL,
            session_id TEXT NOT NULL,
            media_id TEXT NOT NULL,
            media_type TEXT NOT NULL,
            data TEXT NOT NULL,
            PRIMARY KEY (tenant, session_id, media_id)
        );
        """,
    ),
)
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Conversation).decode


class Kept(Struct, frozen=True):
    conversation: Conversation
    version: int


class ConversationTables:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.migrate(APP, SCRIPTS)

    async def create(self, tenant: str, conversation: Conversation) -> bool:
        """False, and nothing is written, where there is one of that name."""
        return bool(
            await self._database.execute(
                "INSERT INTO supplier_conversations (tenant, session_id, version, status, opened_at, body)"
                " VALUES ($1, $2, 1, $3, $4, $5) ON CONFLICT (tenant, session_id) DO NOTHING",
                tenant,
                conversation.session_id,
                conversation.status.value,
                conversation.opened_at,
                _ENCODE(conversation).decode(),
            )
        )

    async def find(self, tenant: str, session_id: str) -> Kept | None:
        rows = await self._database.fetch(
            "SELECT version, body FROM supplier_conversations WHERE tenant = $1 AND session_id = $2",
            tenant,
            session_id,
        )
        return Kept(_DECODE(str(rows[0]["body"])), int(str(rows[0]["version"]))) if rows else None

    async def change(
        self, tenant: str, session_id: str, change: Callable[[Conversation], Conversation | None]
    ) -> Conversation | None:
        """Apply a change to the conversation as it is when it is written; None as a change leaves it alone.

        The conversation afterwards, or None if there is none of that name. Somebody who was faster is seen, not
        overwritten: the change is then applied to what they left.
        """
        while (kept := await self.find(tenant, session_id)) is not None:
            changed = change(kept.conversation)
            if changed is None or changed == kept.conversation:
                return kept.conversation
            if await self._database.execute(
                "UPDATE supplier_conversations SET version = version + 1, status = $4, body = $5"
                " WHERE tenant = $1 AND session_id = $2 AND version = $3",
                tenant,
                session_id,
                kept.version,
                changed.status.value,
                _ENCODE(changed).decode(),
            ):
                return changed
        return None

    async def list(self, tenant: str, *, status: str = "", before: str = "", limit: int = 50) -> list[Conversation]:
        """Newest first; `before` is the session that was listed last."""
        rows = await self._database.fetch(
            "SELECT body FROM supplier_conversations c WHERE c.tenant = $1 AND ($2 = '' OR c.status = $2)"
            " AND ($3 = '' OR (c.opened_at, c.session_id) < (SELECT p.opened_at, p.session_id"
            " FROM supplier_conversations p WHERE p.tenant = $1 AND p.session_id = $3))"
            " ORDER BY c.opened_at DESC, c.session_id DESC LIMIT $4",
            tenant,
            status,
            before,
            limit,
        )
        return [_DECODE(str(row["body"])) for row in rows]

    async def keep_media(self, tenant: str, session_id: str, entry: HistoryEntry) -> HistoryEntry:
        """The entry without the bytes of its media: a conversation is written often, and they never change. Bytes that
        can be neither shown nor heard are not kept."""
        kept: list[Media] = []
        for place, media in enumerate(entry.media):
            media_id = f"{entry.message_id}.{place}" if is_of_use(media) else ""
            if media_id:
                await self._database.execute(
                    "INSERT INTO supplier_media (tenant, session_id, media_id, media_type, data)"
                    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant, session_id, media_id) DO NOTHING",
                    tenant,
                    session_id,
                    media_id,
                    media.media_type,
                    media.data,
                )
            kept.append(msgspec.structs.replace(media, data="", media_id=media_id))
        return msgspec.structs.replace(entry, media=tuple(kept))

    async def with_media(self, tenant: str, session_id: str, entry: HistoryEntry) -> HistoryEntry:
        media = [await self._with_data(tenant, session_id, one) if one.media_id else one for one in entry.media]
        return msgspec.structs.replace(entry, media=tuple(media))

    async def _with_data(self, tenant: str, session_id: str, media: Media) -> Media:
        rows = await self._database.fetch(
            "SELECT data FROM supplier_media WHERE tenant = $1 AND session_id = $2 AND media_id = $3",
            tenant,
            session_id,
            media.media_id,
        )
        return msgspec.structs.replace(media, data=str(rows[0]["data"]) if rows else "")
