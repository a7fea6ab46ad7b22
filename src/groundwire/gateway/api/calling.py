"""`POST /api/calls`: one call of a tool, carried out like any other, with its envelope as the answer."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import NotFound, WireError
from groundwire.contracts.results import ConfirmationNotice, encode_result
from groundwire.contracts.texts import storable
from groundwire.gateway.api import schemas
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.sessions import MAX_ID_CHARS, is_id
from groundwire.runtime.turns import TurnOptions
from groundwire.serving.answers import JSON
from groundwire.serving.endpoints import HEADER_PATTERN, Asked, Endpoint
from groundwire.serving.headers import APPROVAL_HEADER, SESSION_HEADER

CALL = "x-groundwire-call-id"
KEY = "idempotency-key"
_HEADER = re.compile(HEADER_PATTERN)
Text = Annotated[str, Meta(max_length=256)]


class Wanted(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`asModel`: under the rules for a model's calls, not an operator's."""

    tool: Annotated[str, Meta(min_length=1, max_length=256)]
    arguments: dict[str, JsonValue] = msgspec.field(default_factory=dict)
    mode: Literal["text", "voice"] = "text"
    profile: Text = ""
    request_id: Text = ""
    actor: Text = ""
    user: Text = ""
    organisation: Text = ""
    as_model: bool = False


class Calling:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def call(self, asked: Asked) -> Response:
        wanted: Wanted = asked.body
        asked.caller.check_tool(wanted.tool)
        if wanted.profile and wanted.profile not in self._runtime.parts.policies.profiles:
            raise NotFound(f"there is no profile {wanted.profile!r}")
        result = await self._runtime.call(
            wanted.tool,
            wanted.arguments,
            call_id=_header(asked, CALL),
            idempotency_key=_header(asked, KEY),
            caller="model" if wanted.as_model else "api",
            **_options(asked, wanted),
        )
        headers = {CALL: result.meta.call_id} if is_id(result.meta.call_id) and result.meta.call_id.isascii() else {}
        if isinstance(result.meta.confirmation, ConfirmationNotice):
            headers[APPROVAL_HEADER] = result.meta.confirmation.id
        return Response(encode_result(result), 200, headers, JSON)


def _options(asked: Asked, wanted: Wanted) -> TurnOptions:
    options: TurnOptions = {"tenant": asked.tenant, "mode": wanted.mode, "profile": wanted.profile}
    options["key_id"] = asked.caller.owner_id
    session = _header(asked, SESSION_HEADER)
    if session is not None:
        options["session"] = session
    if wanted.request_id:
        options["request_id"] = storable(wanted.request_id)
    if wanted.actor:
        options["actor"] = storable(wanted.actor)
    if wanted.user:
        options["user"] = storable(wanted.user)
    if wanted.organisation:
        options["organisation"] = storable(wanted.organisation)
    return options


def _header(asked: Asked, name: str) -> str | None:
    """An id that a header gives, if it does."""
    value = asked.header(name)
    if value is not None and not (len(value) <= MAX_ID_CHARS and _HEADER.fullmatch(value)):
        raise WireError(f"has 1 to {MAX_ID_CHARS} visible ASCII characters", path=name)
    return value


def calling_endpoints(runtime: Runtime) -> list[Endpoint]:
    return [
        Endpoint(
            method="POST",
            path="/api/calls",
            name="callTool",
            summary="Call a tool. The answer is its envelope, whether the call succeeded, failed or was refused.",
            tag="calls",
            handler=Calling(runtime).call,
            scope="tools",
            body=Wanted,
            headers={
                SESSION_HEADER: "The conversation that the call belongs to.",
                CALL: "The call's own id; made up when not given.",
                KEY: "The same key and arguments again give the stored result.",
            },
            answers={200: schemas.ENVELOPE},
            errors=(404,),
        )
    ]
