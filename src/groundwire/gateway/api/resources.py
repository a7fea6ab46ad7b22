"""The endpoints that every kind of row has: a list of them, one of them, and what can be done to one.

Knows how these are addressed and what they may answer, not what they do.
"""

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.gateway.api import schemas
from groundwire.serving.endpoints import Endpoint, Handler


class Resource(Struct, frozen=True, kw_only=True):
    """`tag` is its name in paths, `key` the part of a path that names one of them, `shape` its schema."""

    tag: str
    key: str
    shape: JsonObject

    def list_all(self, name: str, summary: str, handler: Handler, query: type[Struct]) -> Endpoint:
        return Endpoint(
            method="GET",
            path=f"/api/{self.tag}",
            name=name,
            summary=summary,
            tag=self.tag,
            handler=handler,
            scope="api",
            query=query,
            answers={200: schemas.page_of(self.shape)},
            errors=(404,),
        )

    def show_one(
        self,
        name: str,
        summary: str,
        handler: Handler,
        *,
        query: type[Struct] | None = None,
        shape: JsonObject | None = None,
    ) -> Endpoint:
        """`shape` where one shows more than a list does."""
        return Endpoint(
            method="GET",
            path=f"/api/{self.tag}/{{{self.key}}}",
            name=name,
            summary=summary,
            tag=self.tag,
            handler=handler,
            scope="api",
            query=query,
            answers={200: shape or self.shape},
            errors=(404,),
        )

    def act_on(
        self,
        name: str,
        summary: str,
        handler: Handler,
        *,
        action: str = "",
        body: type[Struct] | None = None,
        body_schema: JsonObject | None = None,
        shape: JsonObject | None = None,
    ) -> Endpoint:
        """409 where somebody has done it before. `action` is the last part of the path where it is not `name`."""
        return Endpoint(
            method="POST",
            path=f"/api/{self.tag}/{{{self.key}}}/{action or name}",
            name=name,
            summary=summary,
            tag=self.tag,
            handler=handler,
            scope="api",
            body=body,
            body_schema=body_schema,
            answers={200: shape or self.shape},
            errors=(404, 409),
        )
