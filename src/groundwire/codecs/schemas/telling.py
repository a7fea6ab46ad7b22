"""What the two Gemini forms have in common: rules of the provider, and telling in words what cannot be sent."""

import math
import re
from collections.abc import Callable

from groundwire.codecs.schemas.conversions import JsonValue, Schema, WarningCode, WarningLog
from groundwire.codecs.schemas.keywords import (
    NEVER,
    as_list,
    as_map,
    as_schema,
    as_strings,
    is_impossible,
    is_number,
    pointer,
    without,
)
from groundwire.codecs.schemas.sentences import sentence_for, sentence_for_choice, with_sentences

SENT = frozenset({
    "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems", "minProperties", "maxProperties",
})  # fmt: skip
"""Keywords with a plain value that both forms take."""

_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_FORMATS = {"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}
_OF_ANY_TYPE = ("allOf", "oneOf", "not", "if", "contentEncoding", "contentMediaType", "contentSchema")
_NOT_CONSTRAINING = ("deprecated", "default", "examples")
_TOLD_WITH_ANOTHER = frozenset({"minContains", "maxContains"})
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class Teller:
    """Makes descriptions and notes each keyword that had to become words."""

    def __init__(self, log: WarningLog) -> None:
        self._log = log

    def describe(self, node: Schema, path: str) -> str:
        """The description of a node with what holds for it whatever its type."""
        told = self.tell(node, [keyword for keyword in _OF_ANY_TYPE if keyword in node], path)
        notes = [sentence_for(keyword, node) for keyword in _NOT_CONSTRAINING if keyword in node]
        return with_sentences(node.get("description"), [told, *(note for note in notes if note)])

    def tell(self, node: Schema, keywords: list[str], path: str) -> str:
        sentences: list[str] = []
        for keyword in keywords:
            if keyword in _TOLD_WITH_ANOTHER:
                continue
            sentence = sentence_for(keyword, node)
            if sentence is not None:
                code: WarningCode = "all_of_conflict" if keyword == "allOf" else "keyword_described"
                self._log.add(code, path, f"{keyword} is told in the description.")
                sentences.append(sentence)
            elif as_schema(node[keyword]) == NEVER:
                self._log.add("keyword_dropped", path, f"{keyword} is not sent.")
        return " ".join(sentences)

    def tell_choice(self, node: Schema, path: str) -> Schema:
        """Alternatives that differ only in what they require become a sentence instead of copies of the object."""
        for keyword in ("anyOf", "oneOf"):
            branches = [as_schema(branch) for branch in as_list(node.get(keyword))]
            if branches and all("required" in branch and _only_requires(branch) for branch in branches):
                sentence = sentence_for_choice(
                    [as_strings(branch["required"]) for branch in branches], exactly_one=keyword == "oneOf"
                )
                self._log.add("keyword_described", path, f"{keyword} is told in the description.")
                description = with_sentences(node.get("description"), [sentence])
                node = {**without(node, keyword), "description": description}
        return node


def _only_requires(branch: Schema) -> bool:
    return branch.keys() <= {"required", "type", "title", "description"} and branch.get("type", "object") == "object"


def takes_format(node: Schema, name: str) -> bool:
    declared = node.get("format")
    return isinstance(declared, str) and declared in _FORMATS.get(name, ())


def with_sent_bounds(node: Schema, name: str) -> Schema:
    """A copy in which exclusive bounds are also plain bounds, and counts are whole numbers.

    For integers the plain bound says it all, and the exclusive one goes.
    """
    bounded = dict(node)
    for count in _COUNTS:
        value = bounded.get(count)
        if isinstance(value, float) and value.is_integer():
            bounded[count] = int(value)
    for exclusive, plain, tighter in (("exclusiveMinimum", "minimum", max), ("exclusiveMaximum", "maximum", min)):
        limit, present = bounded.pop(exclusive, None), bounded.get(plain)
        if not isinstance(limit, int | float) or not is_number(limit):
            continue
        if name == "integer":
            limit = math.floor(limit) + 1 if plain == "minimum" else math.ceil(limit) - 1
        bounded[plain] = tighter(limit, present) if isinstance(present, int | float) else limit
        if name != "integer" and bounded[plain] == limit:
            bounded[exclusive] = limit
    return bounded


def write_properties(
    node: Schema, path: str, written: Schema, write: Callable[[Schema, str], Schema], log: WarningLog
) -> list[JsonValue]:
    """Write the declared properties; give back the required names that are not among them, which may be refused."""
    properties: Schema = {}
    for name, schema in as_map(node.get("properties")).items():
        here = pointer(path, "properties", name)
        if is_impossible(as_schema(schema)):
            log.add("keyword_dropped", here, "A property that may never be given was left out.")
            continue
        if not _PARAMETER_NAME.fullmatch(name):
            log.add(
                "parameter_name", here, "Parameter names are a letter or _, then letters, digits and _, at most 64."
            )
        properties[name] = write(as_schema(schema), here)
    if "properties" in node:
        written["properties"] = properties
    required = list(dict.fromkeys(as_strings(node.get("required"))))
    if declared := [name for name in required if name in properties]:
        written["required"] = list(declared)
    return [name for name in required if name not in properties]
