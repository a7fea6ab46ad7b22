"""What a schema keyword says, in one plain English sentence.

Used where a provider does not take the keyword, so that the model still reads its meaning in the description. The
wording is fixed: declarations take part in prompt caches, and equal schemas must give equal text.
"""

import json
from collections.abc import Iterable

from groundwire.codecs.schemas.conversions import JsonValue, Schema
from groundwire.codecs.schemas.keywords import NEVER, as_list, as_map, as_strings

MAX_TEXT = 400


def text_of(value: JsonValue) -> str:
    """A value as compact JSON, cut when it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def with_sentences(description: JsonValue, sentences: list[str]) -> str:
    """The description followed by the sentences that it does not hold yet."""
    text = description.strip() if isinstance(description, str) else ""
    for sentence in sentences:
        if sentence in text:
            continue
        if text and text[-1].isalnum():
            text += "."
        text = f"{text} {sentence}".strip()
    return text


def sentence_for(keyword: str, node: Schema) -> str | None:
    """The sentence for one keyword of a node, or None where there is nothing worth saying."""
    value = node[keyword]
    if keyword in _WITH_VALUE:
        return _WITH_VALUE[keyword].format(text_of(value))
    if keyword in _WITH_WORD:
        return _WITH_WORD[keyword].format(value if isinstance(value, str) else text_of(value))
    if keyword in _FLAGS:
        return _FLAGS[keyword] if value is True else None
    return _composed(keyword, node)


_WITH_VALUE = {
    "exclusiveMinimum": "Must be greater than {}.",
    "exclusiveMaximum": "Must be less than {}.",
    "multipleOf": "Must be a multiple of {}.",
    "default": "Default: {}.",
    "propertyNames": "Keys must match this JSON Schema: {}.",
    "not": "Must not match this JSON Schema: {}.",
    "contentSchema": "The decoded content must match this JSON Schema: {}.",
}
_WITH_WORD = {
    "format": "Format: {}.",
    "pattern": "Pattern: {}.",
    "contentEncoding": "Content encoding: {}.",
    "contentMediaType": "Content type: {}.",
}
_FLAGS = {"uniqueItems": "Items must be unique.", "deprecated": "Deprecated."}


def _composed(keyword: str, node: Schema) -> str | None:
    value = node[keyword]
    match keyword:
        case "enum":
            return f"Allowed values: {_listed(as_list(value))}."
        case "examples":
            return f"Examples: {_listed(as_list(value))}." if as_list(value) else None
        case "required":
            return f"Also required: {', '.join(as_strings(value))}." if as_strings(value) else None
        case "additionalProperties" | "unevaluatedProperties":
            return _about_others("keys take values of", value)
        case "unevaluatedItems":
            return _about_others("items are of", value)
        case "prefixItems":
            return f"Items in order: {', then '.join(text_of(item) for item in as_list(value))}."
        case "patternProperties":
            return _joined(f"Keys matching {name} take values of this JSON Schema: {text_of(schema)}."
                           for name, schema in as_map(value).items())  # fmt: skip
        case "dependentRequired":
            return _joined(f"If {name} is given, these are required too: {', '.join(as_strings(names))}."
                           for name, names in as_map(value).items() if as_strings(names))  # fmt: skip
        case "dependentSchemas":
            return _joined(f"If {name} is given, the object must match this JSON Schema: {text_of(schema)}."
                           for name, schema in as_map(value).items())  # fmt: skip
        case "contains":
            return _about_contains(node)
        case "if":
            return _about_condition(node)
        case "oneOf":
            return f"Must match exactly one of these JSON Schemas: {_listed(as_list(value))}."
        case "anyOf":
            return f"Must match at least one of these JSON Schemas: {_listed(as_list(value))}."
        case "allOf":
            return _joined(f"Must also match this JSON Schema: {text_of(part)}." for part in as_list(value))
    return None


def sentence_for_choice(required_sets: list[list[str]], *, exactly_one: bool) -> str:
    """For alternatives that differ in what they require."""
    choices = "; ".join(", ".join(names) for names in required_sets)
    return f"Give {'exactly' if exactly_one else 'at least'} one of these sets of properties: {choices}."


def _listed(values: list[JsonValue]) -> str:
    text = ", ".join(text_of(value) for value in values)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _joined(sentences: Iterable[str]) -> str | None:
    return " ".join(sentences) or None


def _about_others(words: str, schema: JsonValue) -> str | None:
    if schema in (True, {}, False) or schema == NEVER:
        return None
    return f"Other {words} this JSON Schema: {text_of(schema)}."


def _about_contains(node: Schema) -> str:
    least, most = node.get("minContains", 1), node.get("maxContains")
    bound = f"at least {text_of(least)}" + (f" and at most {text_of(most)}" if most is not None else "")
    return f"The number of items that match this JSON Schema must be {bound}: {text_of(node['contains'])}."


def _about_condition(node: Schema) -> str | None:
    condition = text_of(node["if"])
    then = f"If it matches {condition}, it must match {text_of(node['then'])}." if "then" in node else ""
    otherwise = f"If it does not match {condition}, it must match {text_of(node['else'])}." if "else" in node else ""
    return f"{then} {otherwise}".strip() or None
