"""Schemas for which the provider guarantees the output: strict tools and output formats take a part of JSON Schema.

Objects are closed, `oneOf` becomes `anyOf`, and what else the provider refuses is told in the description. Schemas that
came in this dialect are not touched: their sender knows what the provider takes.
"""

from groundwire.codecs.schemas.conversions import Conversion, JsonValue, Schema, WarningLog
from groundwire.codecs.schemas.keywords import MAX_DEPTH, as_list, as_map, as_schema, pointer
from groundwire.codecs.schemas.sentences import sentence_for, text_of, with_sentences

_PLAIN = frozenset({"type", "title", "required", "$ref"})
_LISTS = ("anyOf", "oneOf", "allOf")
_FORMATS = frozenset({
    "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
})  # fmt: skip
_BOUNDS = {
    "minimum": "Must be at least {}.",
    "maximum": "Must be at most {}.",
    "minLength": "Must have at least {} characters.",
    "maxLength": "Must have at most {} characters.",
    "minItems": "Must have at least {} items.",
    "maxItems": "Must have at most {} items.",
    "minProperties": "Must have at least {} properties.",
    "maxProperties": "Must have at most {} properties.",
}
_HANDLED = _PLAIN | {"$defs", "properties", "additionalProperties", "items", "description", *_LISTS}


def to_strict(schema: Schema) -> Conversion:
    log = WarningLog()
    return Conversion(schema=_strict(schema, "", 0, log), warnings=log.taken())


def _strict(node: Schema, path: str, depth: int, log: WarningLog) -> Schema:
    if depth > MAX_DEPTH:
        log.add("schema_too_deep", path, "Nesting was cut.")
        return {}
    written: Schema = {}
    if "$defs" in node:
        written["$defs"] = _each(node["$defs"], pointer(path, "$defs"), depth, log)
    if "$ref" in node:
        written["$ref"] = node["$ref"]
        for name in node.keys() - {"$ref", "$defs"}:
            log.add("keyword_dropped", path, f"{name} beside $ref is not sent.")
        return written
    written.update({name: node[name] for name in ("type", "title") if name in node})
    for name in _LISTS:
        if name in node:
            if name == "oneOf":
                log.add("one_of_widened", path, "oneOf is sent as anyOf.")
            written["allOf" if name == "allOf" else "anyOf"] = [
                _strict(as_schema(branch), pointer(path, name, str(place)), depth + 1, log)
                for place, branch in enumerate(as_list(node[name]))
            ]
    if _may_be_object(node):
        written["properties"] = _each(node.get("properties", {}), pointer(path, "properties"), depth, log)
        written["additionalProperties"] = False
        if "required" in node:
            written["required"] = node["required"]
    elif node.get("required"):
        log.add("keyword_dropped", path, "required is not sent, because nothing else says that this is an object.")
    if "items" in node:
        written["items"] = _strict(as_schema(node["items"]), pointer(path, "items"), depth + 1, log)
    _write_rest(node, written, path, log)
    return written


def _each(schemas: JsonValue, path: str, depth: int, log: WarningLog) -> Schema:
    return {
        name: _strict(as_schema(schema), pointer(path, name), depth + 1, log)
        for name, schema in as_map(schemas).items()
    }


def _may_be_object(node: Schema) -> bool:
    declared = node.get("type")
    return declared == "object" or (isinstance(declared, list) and "object" in declared) or "properties" in node


def _write_rest(node: Schema, written: Schema, path: str, log: WarningLog) -> None:
    """Keywords with plain values: sent if the provider takes the value, else told in words."""
    told: list[str] = []
    for keyword, value in node.items():
        if keyword in _HANDLED and (keyword != "additionalProperties" or value in (True, False, {})):
            continue
        if _is_taken(keyword, value):
            written[keyword] = value
            continue
        bound = _BOUNDS.get(keyword)
        sentence = sentence_for(keyword, node) if bound is None else bound.format(text_of(value))
        if sentence is None:
            log.add("keyword_dropped", path, f"{keyword} is not sent.")
        else:
            log.add("keyword_described", path, f"{keyword} is told in the description.")
            told.append(sentence)
    if "description" in node or told:
        written["description"] = with_sentences(node.get("description"), told) if told else node["description"]


def _is_taken(keyword: str, value: JsonValue) -> bool:
    match keyword:
        case "enum":
            return isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value)
        case "const":
            return not isinstance(value, (list, dict))
        case "format":
            return value in _FORMATS
        case "minItems":
            return value in (0, 1)
    return False
