"""Schemas that would take for ever, and schemas that only look like it."""

BOMB_LEVELS = 30


def ladder(levels, keyword="anyOf", step=lambda reference: reference, copies=2):
    """Each level applies the next one twice."""
    definitions = {
        f"l{level}": {keyword: [step({"$ref": f"#/$defs/l{level + 1}"}) for _ in range(copies)]}
        for level in range(levels)
    }
    return {"type": "object", "$defs": {**definitions, f"l{levels}": {"type": "string"}}, "$ref": "#/$defs/l0"}


def unevaluated(levels):
    """To know what an inner level has evaluated, it is evaluated again."""
    schema = {"properties": {"a": True}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return {"type": "object", **schema}


BOMB = ladder(BOMB_LEVELS)
BOMBS = {
    "anyOf": BOMB,
    "allOf": ladder(BOMB_LEVELS, "allOf"),
    "oneOf": ladder(BOMB_LEVELS, "oneOf"),
    "not": ladder(BOMB_LEVELS, step=lambda reference: {"not": reference}),
    "if": ladder(BOMB_LEVELS, "allOf", lambda reference: {"if": reference, "then": reference, "else": reference}, 1),
    "dependentSchemas": ladder(BOMB_LEVELS, step=lambda reference: {"dependentSchemas": {"a": reference}}),
    "properties": ladder(BOMB_LEVELS, step=lambda reference: {"properties": {"a": reference}}),
    "additionalProperties": ladder(BOMB_LEVELS, step=lambda reference: {"additionalProperties": reference}),
    "patternProperties": ladder(BOMB_LEVELS, step=lambda reference: {"patternProperties": {"a": reference}}),
    "items": ladder(BOMB_LEVELS, step=lambda reference: {"items": reference}),
    "prefixItems": ladder(BOMB_LEVELS, step=lambda reference: {"prefixItems": [reference]}),
    "contains": ladder(BOMB_LEVELS, step=lambda reference: {"contains": reference}),
    "unevaluatedProperties": unevaluated(BOMB_LEVELS),
    "mixed ways down": {
        **ladder(BOMB_LEVELS, "allOf", lambda reference: {"properties": {"a": reference}, "patternProperties": {"^a": reference}}, 1)
    },
}  # fmt: skip
LOOPS = {
    "itself": {"$ref": "#"},
    "through anyOf": {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]}}, "$ref": "#/$defs/a"},
    "two": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
    "anchor": {"$defs": {"a": {"$anchor": "x", "not": {"$ref": "#x"}}}, "$ref": "#/$defs/a"},
    "dynamic": {"$dynamicAnchor": "x", "if": {"$dynamicRef": "#x"}},
    "address": {"$id": "https://example.com/a.json", "allOf": [{"$ref": "a.json"}]},
}
ANY_JSON = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/$defs/json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
    ]
}


def expressions(kinds, *, shared, tagged):
    """Trees of many kinds: their union in one definition or written out everywhere, with or without a tag."""
    union = {"anyOf": [{"$ref": f"#/$defs/kind{number}"} for number in range(kinds)]}
    child = {"$ref": "#/$defs/any"} if shared else union
    definitions = {
        f"kind{number}": {
            "type": "object",
            "properties": {
                "left": child,
                "right": child,
                "parts": {"type": "array", "items": child},
                "kind": {"const": f"kind{number}"} if tagged else {"type": "string"},
            },
            "required": ["kind"] if tagged else [],
        }
        for number in range(kinds)
    }
    schema = {"$defs": {**definitions, "any": union}, "type": "object", "properties": {"tree": child}}
    return schema if shared else {**schema, "$defs": definitions}


def tree(depth, kind="kind0"):
    """A tree of that depth in which every node has two children and a list of one."""
    node = {"kind": kind}
    for _ in range(depth):
        node = {"left": node, "kind": kind, "right": {"kind": kind}, "parts": [{"kind": kind}]}
    return node
