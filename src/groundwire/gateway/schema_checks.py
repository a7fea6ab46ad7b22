"""Checks the schemas that clients send, of tools and of answers, against the limits before they are used."""

import orjson

from groundwire.codecs.caching import MAX_BYTES, ToolCache
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import SchemaTooComplex
from groundwire.contracts.requests import DeclaredTool, FunctionTool, ModelRequest
from groundwire.contracts.schema_limits import SchemaLimits
from groundwire.registry.schema_bounds import measure_schema

_BOUNDED = "bounded"
_REMEMBERED = 256
"""Schemas of answers that are not measured again."""


class SchemaChecks:
    """Measures each list of tools, and each schema of an answer, the first time that it is sent."""

    def __init__(self, limits: SchemaLimits, cache: ToolCache) -> None:
        self._limits = limits
        self._cache = cache
        self._outputs: dict[bytes, None] = {}

    def check(self, request: ModelRequest) -> None:
        """Raise SchemaTooComplex if a schema exceeds a limit, with its place in the request as `path`."""
        tools = request.tools
        if tools and self._cache.recall(tools, _BOUNDED) is None and self.measure_tools(tools) <= MAX_BYTES:
            self._cache.once(tools, _BOUNDED, lambda: True)
        if request.output is not None and isinstance(request.output.schema, dict):
            self._check_output(request.output.schema)

    def measure_tools(self, tools: tuple[DeclaredTool, ...]) -> int:
        """Measure the parameters of each tool, and return their size in bytes. Raises SchemaTooComplex."""
        size = 0
        for place, tool in enumerate(tools):
            if type(tool) is FunctionTool and isinstance(tool.parameters, dict):
                size += self._measure(tool.parameters, f"the tool {tool.name!r}", f"tools[{place}]")
        return size

    def _check_output(self, schema: JsonObject) -> None:
        try:
            text = orjson.dumps(schema)
        except TypeError:  # integers past 64 bits; measured every time
            text = b""
        if text in self._outputs:
            return
        if self._measure(schema, "the answer", "output") <= MAX_BYTES // _REMEMBERED and text:
            while len(self._outputs) >= _REMEMBERED:
                del self._outputs[next(iter(self._outputs))]
            self._outputs[text] = None

    def _measure(self, schema: JsonObject, of: str, path: str) -> int:
        try:
            return measure_schema(schema, of=of, limits=self._limits).bytes
        except SchemaTooComplex as error:
            error.path = path
            raise
