"""The description of everything that is served, in OpenAPI 3.1. Made from operations; which there are, the doors say."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.serving.endpoints import HEADER_PATTERN, Asked, Endpoint, needs_body
from groundwire.serving.keys import KEY_PARAMETER

ERROR: JsonObject = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "additionalProperties": False,
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "hint": {"type": "string"}},
        }
    },
}
REQUEST_ID: JsonObject = {"description": "Names the request in logs.", "required": True, "schema": {"type": "string"}}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_PLACE = re.compile(r"{(\w+)}")
_DEFS = "#/$defs/"


class Operation(Struct, frozen=True, kw_only=True):
    """One thing that can be asked for. `answers` are media types with their schemas, by status."""

    method: str
    path: str
    name: str
    summary: str
    tag: str
    parameters: tuple[JsonObject, ...] = ()
    body: JsonObject | None = None
    body_media: str = "application/json"
    needs_body: bool = True
    answers: Mapping[int, Mapping[str, JsonObject]] = {}
    request_id_header: str = "x-request-id"
    needs_key: bool = True


def operation_of(endpoint: Endpoint) -> Operation:
    """An endpoint of ours as it is described."""
    statuses = {400, 403, 503, *endpoint.errors, *([413] if endpoint.body is not None else [])}
    if endpoint.scope is not None:
        statuses |= {401, 429}
    answers: dict[int, dict[str, JsonObject]] = {status: {"application/json": ERROR} for status in sorted(statuses)}
    answers |= {status: dict.fromkeys(endpoint.media, schema) for status, schema in endpoint.answers.items()}
    return Operation(
        method=endpoint.method,
        path=endpoint.path,
        name=endpoint.name,
        summary=endpoint.summary,
        tag=endpoint.tag,
        parameters=(*_query(endpoint.query), *map(_header, endpoint.headers.items())),
        body=endpoint.body_schema or (_struct(endpoint.body) if endpoint.body is not None else None),
        needs_body=endpoint.body is None or needs_body(endpoint.body),
        answers=answers,
        needs_key=endpoint.scope is not None,
    )


class About(Struct, frozen=True, kw_only=True):
    """What a description says of the server as a whole."""

    title: str
    description: str


GATEWAY = About(
    title="Groundwire",
    description="Four model APIs in front of any model, and tools under every guarantee of the runtime.",
)


def document(operations: Iterable[Operation], *, version: str, about: About = GATEWAY) -> JsonObject:
    components: JsonObject = {}
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": about.title, "version": version, "description": about.description},
        "paths": dict(sorted(paths.items())),
        "security": [{}, {"bearer": []}, {"apiKey": []}, {"googleKey": []}, {"queryKey": []}],
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "googleKey": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
                "queryKey": {"type": "apiKey", "in": "query", "name": KEY_PARAMETER},
            },
        },
    }


def _described(operation: Operation, components: JsonObject) -> JsonObject:
    places = [_place(name) for name in _PLACE.findall(operation.path)]
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [*places, *operation.parameters],
        "responses": {
            str(status): {
                "description": _PHRASES.get(status, "Overloaded"),
                "headers": {operation.request_id_header: REQUEST_ID},
                "content": {
                    media: {"schema": _hoisted(schema, operation.name, components)} for media, schema in media.items()
                },
            }
            for status, media in operation.answers.items()
        },
    }
    if not operation.needs_key:
        described["security"] = []
    if operation.body is not None:
        schema = _hoisted(operation.body, operation.name, components)
        content: JsonObject = {operation.body_media: {"schema": schema}}
        described["requestBody"] = {"required": operation.needs_body, "content": content}
    return described


def _place(name: str) -> JsonObject:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _query(kind: type[Struct] | None) -> list[JsonObject]:
    if kind is None:
        return []
    schema = _struct(kind)
    required = schema.get("required", [])
    return [_parameter(name, shape, is_required=name in required) for name, shape in schema["properties"].items()]


def _parameter(name: str, shape: Any, *, is_required: bool) -> JsonObject:
    """A parameter that may be null is one that need not be given."""
    kinds = [kind for kind in shape.get("anyOf", []) if kind != {"type": "null"}]
    own = {key: value for key, value in (kinds[0] if kinds else shape).items() if key != "description"}
    description = (kinds[0] if kinds else shape).get("description", "")
    return {"name": name, "in": "query", "required": is_required, "description": description, "schema": own}


def _header(described: tuple[str, str]) -> JsonObject:
    name, description = described
    shape: JsonObject = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": HEADER_PATTERN}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": shape}


def _struct(kind: type[Struct]) -> Any:
    """The schema of a struct, with what it refers to inside it."""
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template=_DEFS + "{name}")
    own = definitions.pop(schema["$ref"].removeprefix(_DEFS))
    return {**own, "$defs": definitions} if definitions else own


def _hoisted(schema: JsonObject, owner: str, components: JsonObject) -> Any:
    """The schema with its definitions moved to where a document keeps them, under names that cannot meet."""
    definitions = schema.get("$defs")
    if not isinstance(definitions, dict):
        return schema
    title = schema.get("title", owner)

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: f"#/components/schemas/{title}.{inner.removeprefix(_DEFS)}" if key == "$ref" else moved(inner)
                for key, inner in value.items()
                if key != "$defs" or inner is not definitions
            }
        return [moved(inner) for inner in value] if isinstance(value, list) else value

    for name, definition in definitions.items():
        components[f"{title}.{name}"] = moved(definition)
    return moved(schema)


def description_endpoint(operations: list[Operation], *, version: str, about: About = GATEWAY) -> Endpoint:
    """`/openapi.json`, which describes itself too."""

    async def describe(_: Asked) -> JsonObject:
        return document([*operations, operation_of(endpoint)], version=version, about=about)

    endpoint = Endpoint(
        method="GET",
        path="/openapi.json",
        name="describeApi",
        summary="This description.",
        tag="operations",
        handler=describe,
        scope=None,
        answers={200: {"type": "object", "required": ["openapi", "paths"]}},
    )
    return endpoint
