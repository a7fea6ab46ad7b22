"""The endpoints that every kind of row has: a list of them, one of them, and what can be done to one.

Knows how these are addressed and what they may answer, not what they do.
"""

from msgspec import Struct
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.serving.endpoints import Endpoint, Handler
from groundwire.serving.paging import page_of


class Resource(Struct, frozen=True, kw_only=True):
    """`tag` is its name in paths, `key` the part of a path that names one of them, `shape` its schema."""

    tag: str
    key: str
    shape: JsonObject

    def list_all(self, name: str, summary: str, handler: Handler, query: type[Struct]) -> Endpoint:
        endpoint = self._endpoint(name, summary, handler)
        return replace(endpoint, query=query, answers={200: page_of(self.shape)})

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
        endpoint = self._endpoint(name, summary, handler, f"/{{{self.key}}}")
        return replace(endpoint, query=query, answers={200: shape or self.shape})

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
        """An action on one of them; 409 if it was already done. `action` is the last part of the path if not `name`."""
        endpoint = self._endpoint(name, summary, handler, f"/{{{self.key}}}/{action or name}")
        answers = {200: shape or self.shape}
        endpoint = replace(endpoint, method="POST", scope="decide", errors=(404, 409))
        return replace(endpoint, body=body, body_schema=body_schema, answers=answers)

    def _endpoint(self, name: str, summary: str, handler: Handler, path: str = "") -> Endpoint:
        return Endpoint(
            method="GET",
            path=f"/api/{self.tag}{path}",
            name=name,
            summary=summary,
            tag=self.tag,
            handler=handler,
            scope="view",
            errors=(404,),
        )
