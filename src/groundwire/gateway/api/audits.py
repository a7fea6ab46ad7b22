"""The audit chain: its records, whether it is whole, and all of it as JSON lines."""

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import StreamingResponse

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotFound
from groundwire.gateway.api import schemas
from groundwire.gateway.api.visibility import show_audit_record
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.showing import show_audit, show_report
from groundwire.serving.endpoints import Asked, Endpoint
from groundwire.serving.paging import Limit, page, page_of

_MOST_SEQ = 2**53 - 1
_NDJSON = "application/x-ndjson"


class AuditQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Annotated[int, Meta(ge=1, le=_MOST_SEQ, description="Go on before this number.")] = _MOST_SEQ


class VerifyQuery(Struct, frozen=True, kw_only=True):
    checkpoint: Annotated[bool, Meta(description="Compare with the configured checkpoint file, too.")] = False


class Audits:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def list_records(self, asked: Asked) -> JsonObject:
        query: AuditQuery = asked.query
        return await page(
            query.limit,
            lambda limit: self._runtime.store.list_audit(asked.tenant, before=query.before, limit=limit),
            lambda record: show_audit_record(record, asked.caller),
            lambda record: str(record.seq),
        )

    async def show_record(self, asked: Asked) -> JsonObject:
        number = asked.place("seq")
        seq = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
        found = await self._runtime.store.list_audit(asked.tenant, before=seq + 1, limit=1) if seq else []
        if not found or found[0].seq != seq:
            raise NotFound(f"there is no audit record {number[:40]!r}")
        return show_audit_record(found[0], asked.caller)

    async def verify(self, asked: Asked) -> JsonObject:
        if asked.query.checkpoint and self._runtime.parts.checkpoints is None:
            raise NotFound("no checkpoint file is configured", hint='set [audit] checkpoint = "…" in groundwire.toml')
        return show_report(await self._runtime.verify_audit(with_checkpoints=asked.query.checkpoint))

    async def export(self, asked: Asked) -> StreamingResponse:
        return StreamingResponse(self._lines(), media_type=_NDJSON)

    async def _lines(self) -> AsyncIterator[bytes]:
        async for record in self._runtime.store.audit_records():
            yield msgspec.json.encode(show_audit(record)) + b"\n"


def audit_endpoints(runtime: Runtime) -> list[Endpoint]:
    audits = Audits(runtime)
    return [
        Endpoint(
            method="GET",
            path="/api/audit",
            name="listAudit",
            summary="Records of the audit chain, the newest first.",
            tag="audit",
            handler=audits.list_records,
            scope="view",
            query=AuditQuery,
            answers={200: page_of(schemas.AUDIT_RECORD)},
        ),
        Endpoint(
            method="GET",
            path="/api/audit/records/{seq}",
            name="showAuditRecord",
            summary="One record, by its number.",
            tag="audit",
            handler=audits.show_record,
            scope="view",
            answers={200: schemas.AUDIT_RECORD},
            errors=(404,),
        ),
        Endpoint(
            method="GET",
            path="/api/audit/verify",
            name="verifyAudit",
            summary="Read the whole chain and name every record that was changed, removed or moved.",
            tag="audit",
            handler=audits.verify,
            scope="admin",
            query=VerifyQuery,
            answers={200: schemas.CHAIN_REPORT},
            errors=(404,),
        ),
        Endpoint(
            method="GET",
            path="/api/audit/export",
            name="exportAudit",
            summary="All records as JSON lines, the oldest first.",
            tag="audit",
            handler=audits.export,
            scope="admin",
            answers={200: {}},
            media=(_NDJSON,),
        ),
    ]
