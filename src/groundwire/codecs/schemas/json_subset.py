"""From a plain schema to what Gemini reads in `parametersJsonSchema`: JSON Schema without its rarer keywords.

Types, null, definitions, tuples and enums of any type stay as they are; what is left out goes into the description.
"""

from groundwire.codecs.schemas.conversions import Schema, WarningLog
from groundwire.codecs.schemas.keywords import (
    KEYWORDS_OF_TYPE,
    as_list,
    as_map,
    as_schema,
    is_impossible,
    pointer,
    type_of_value,
    types_of,
    without,
)
from groundwire.codecs.schemas.sentences import with_sentences
from groundwire.codecs.schemas.telling import (
    SENT,
    Teller,
    takes_format,
    with_sent_bounds,
    write_properties,
)

_WRITTEN = frozenset({"properties", "required", "additionalProperties", "items", "prefixItems"}) | SENT
_TOLD = frozenset().union(*KEYWORDS_OF_TYPE.values()) - _WRITTEN


def write_json_subset(plain: Schema, log: WarningLog) -> Schema:
    writer = _Writer(log)
    written = writer.write(without(plain, "$defs"), "")
    if "$defs" in plain:
        written["$defs"] = {
            name: writer.write(as_schema(schema), pointer("", "$defs", name))
            for name, schema in as_map(plain["$defs"]).items()
        }
    return written


class _Writer:
    def __init__(self, log: WarningLog) -> None:
        self._log = log
        self._teller = Teller(log)

    def write(self, node: Schema, path: str) -> Schema:
        if "$ref" in node:
            return {"$ref": node["$ref"]}
        if is_impossible(node):
            self._log.add("unsatisfiable", path, "No value can match here; any value was declared.")
            return {"description": "No value is valid here."}
        node = self._teller.tell_choice(node, path)
        names = types_of(node)
        if names is None and "enum" in node:
            names = list(dict.fromkeys(map(type_of_value, as_list(node["enum"]))))
        kind = names[0] if names is not None and len(names) == 1 else "number"
        node = with_sent_bounds(node, kind)
        written: Schema = {}
        if names is not None:
            written["type"] = list(names) if len(names) > 1 else kind
        unsent = _TOLD & node.keys()
        if takes_format(node, kind):
            written["format"] = node["format"]
            unsent -= {"format"}
        written.update((keyword, node[keyword]) for keyword in node if keyword in SENT or keyword == "enum")
        if undeclared := write_properties(node, path, written, self.write, self._log):
            node["required"] = undeclared
            unsent |= {"required"}
        unsent |= self._write_other_properties(node, path, written)
        self._write_items(node, path, written)
        node = self._write_alternatives(node, path, written)
        told = self._teller.tell(node, sorted(unsent), path)
        description = with_sentences(self._teller.describe(node, path), [told])
        return {**written, "description": description} if description else written

    def _write_other_properties(self, node: Schema, path: str, written: Schema) -> set[str]:
        """Write `additionalProperties`, or give it back: without the patterns it would judge the keys they allow."""
        if "additionalProperties" not in node:
            return set()
        if node.get("patternProperties"):
            return {"additionalProperties"}
        other = as_schema(node["additionalProperties"])
        if is_impossible(other):
            written["additionalProperties"] = False
        else:
            written["additionalProperties"] = self.write(other, pointer(path, "additionalProperties")) or True
        return set()

    def _write_items(self, node: Schema, path: str, written: Schema) -> None:
        first = as_list(node.get("prefixItems"))
        if first:
            written["prefixItems"] = [
                self.write(as_schema(item), pointer(path, "prefixItems", index)) for index, item in enumerate(first)
            ]
        if "items" not in node:
            return
        rest = as_schema(node["items"])
        if is_impossible(rest):
            most = written.get("maxItems")
            written["maxItems"] = min(most, len(first)) if isinstance(most, int) else len(first)
        else:
            written["items"] = self.write(rest, pointer(path, "items"))

    def _write_alternatives(self, node: Schema, path: str, written: Schema) -> Schema:
        """Write one set of alternatives; give back the node with what is still to be told."""
        keyword = next((keyword for keyword in ("anyOf", "oneOf") if keyword in node), None)
        if keyword is None:
            return node
        if keyword == "oneOf":
            self._log.add("one_of_widened", path, "oneOf was sent as anyOf.")
        branches = [
            self.write(as_schema(branch), pointer(path, keyword, index))
            for index, branch in enumerate(as_list(node[keyword]))
            if not is_impossible(as_schema(branch))
        ]
        if branches:
            written["anyOf"] = list(branches)
        else:
            self._log.add("unsatisfiable", path, "None of the alternatives can match; they were left out.")
        return without(node, keyword)
