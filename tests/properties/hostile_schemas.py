"""Schemas and values that are meant to take long: what each keyword can do at its worst, alone and with the others."""

import gc
import json
import math
import time
from dataclasses import dataclass
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from groundwire.contracts.errors import RegistryError, SchemaTooComplex
from groundwire.registry.validators import CompiledSchema, compile_schema
from groundwire.runtime.validation import find_errors, fits, may_be_odd

NAMES = ("a", "b", "c")
EVIL_PATTERNS = (
    "(a+)+$", "^(a|aa)+$", "(.*)*x", "^([a-z]+)*!", "[ab]*a[ab]{40}x", "^[ab]*a[ab]{200}$", "(a{1,20}){1,20}b",
    "a{1,300}b", "^(a?){60}a{60}$", ".*.*.*=.*", "(?:.*a){12}b", "^a*a*a*a*a*b", "(\\w+\\s?)*$", "[^a]*b", "^[a-z]{1,200}$",
    "^(?=.*b)a+$", "^(?!.*b).{3,}", "(x+x+)+y", "\\p{L}{3}", "^(([a-z])+.)+[A-Z]([a-z])+$",
)  # fmt: skip
MAX_NODES = 200_000
SCALARS: tuple[Any, ...] = (1, -1, 0, 1.5, 0.1, 1e-300, 1e300, 10**25, "", "a", "ab", "aaaa", True, None)

_names = st.sampled_from(NAMES)
_few = st.integers(1, 4)
_many = st.sampled_from((1, 2, 3, 5, 10, 30, 60, 120, 240))
_leaves = st.one_of(
    st.sampled_from((True, False, {}, {"type": "string"}, {"type": ["object", "array"]}, {"minimum": 5}, {"maxLength": 3})),
    st.sampled_from(EVIL_PATTERNS).map(lambda pattern: {"pattern": pattern}),
    st.sampled_from((0.1, 0.01, 7, 1e-40, 2.5)).map(lambda factor: {"multipleOf": factor}),
    _many.map(lambda count: {"enum": [*range(count), "x", None]}),
    _many.map(lambda count: {"enum": [{"a": number} for number in range(count)]}),
    _many.map(lambda count: {"enum": [[1] * 20 + [number] for number in range(count)]}),
    _many.map(lambda count: {"const": [[1, 2]] * count}),
    _many.map(lambda count: {"required": [f"k{number}" for number in range(count)]}),
    _many.map(lambda count: {"dependentRequired": {f"k{number}": ["a", "b"] for number in range(count)}}),
    st.just({"uniqueItems": True}),
)  # fmt: skip


def _apart(value: Any) -> Any:
    """A copy in which nothing is the same object twice, as when it is read. One that would be huge is not tried."""
    assume(_nodes(value, {}) <= MAX_NODES)
    return json.loads(json.dumps(value))


def _nodes(value: Any, known: dict[int, int]) -> int:
    if not isinstance(value, (dict, list)):
        return 1
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_nodes(part, known) for part in parts)
    return known[id(value)]


def _repeat(schema: Any, keyword: str, count: int) -> Any:
    return {keyword: [schema] * count}


def _with_all_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(_with_parts(inner), _with_maps(inner))


def _with_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    in_place = st.sampled_from(("anyOf", "allOf", "oneOf"))
    return st.one_of(
        st.builds(_repeat, inner, in_place, _many),
        st.builds(lambda keyword, parts: {keyword: parts}, in_place, st.lists(inner, min_size=1, max_size=4)),
        st.builds(lambda schema: {"not": schema}, inner),
        st.builds(lambda first, second, third: {"if": first, "then": second, "else": third}, inner, inner, inner),
        st.builds(lambda schema: {"additionalProperties": schema}, inner),
        st.builds(lambda schema: {"propertyNames": schema}, inner),
        st.builds(lambda schema: {"items": schema}, inner),
        st.builds(lambda schema: {"items": schema, "uniqueItems": True}, inner),
        st.builds(lambda parts: {"prefixItems": parts}, st.lists(inner, min_size=1, max_size=4)),
        st.builds(lambda schema, least: {"contains": schema, "minContains": least}, inner, st.integers(0, 3)),
        st.builds(lambda schema, rest: {"allOf": [schema], "unevaluatedProperties": rest}, inner, inner),
        st.builds(lambda schema, rest: {"anyOf": [schema, True], "unevaluatedItems": rest}, inner, inner),
        st.builds(_joined, inner, inner),
    )


def _with_maps(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The keywords that hold subschemas by name."""
    return st.one_of(
        st.builds(lambda named: {"properties": named}, st.dictionaries(_names, inner, min_size=1)),
        st.builds(lambda schema, count: {"properties": {f"k{n}": schema for n in range(count)}}, inner, _many),
        st.builds(
            lambda schema, patterns: {"patternProperties": dict.fromkeys(patterns, schema)},
            inner,
            st.lists(st.sampled_from((*EVIL_PATTERNS, "^a", "a|b", "k[0-9]+$", "")), min_size=1, max_size=8),
        ),
        st.builds(
            lambda schema, count: {"patternProperties": {f"[ab]{{{n + 1}}}$": schema for n in range(count)}},
            inner,
            _many,
        ),
        st.builds(lambda named: {"dependentSchemas": named}, st.dictionaries(_names, inner, min_size=1)),
    )


def _joined(first: Any, second: Any) -> Any:
    """The keywords of both in one subschema."""
    return {**second, **first} if isinstance(first, dict) and isinstance(second, dict) else first


@st.composite
def hostile_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A schema whose definitions refer to each other: forwards as ladders do, back as trees do, or any way."""
    count = draw(st.integers(1, 8))
    direction = draw(st.sampled_from(("forwards", "any", "back")))

    def reference(number: int) -> st.SearchStrategy[Any]:
        if direction == "forwards":
            choices = range(number + 1, count)
        else:
            choices = range(count) if direction == "any" else range(number + 1)
        if not choices:
            return st.just({"type": "string"})
        return st.sampled_from(choices).map(lambda target: {"$ref": f"#/$defs/d{target}"})

    definitions = {}
    for number in range(count):
        leaves = st.one_of(reference(number), reference(number), reference(number), _leaves)
        definitions[f"d{number}"] = draw(st.recursive(leaves, _with_all_parts, max_leaves=draw(_few) * 2))
    return _apart({"$defs": definitions, "$ref": "#/$defs/d0"})


@st.composite
def ladders(draw: st.DrawFn) -> dict[str, Any]:
    """Levels that each apply the next several times, to the same value or to a part of it."""
    levels, copies = draw(st.integers(1, 30)), draw(st.integers(1, 4))
    keyword = draw(st.sampled_from(("anyOf", "allOf", "oneOf")))
    below = draw(st.sampled_from(("", "a", "items", "additional", "unevaluated")))
    closes = draw(st.booleans())

    def step(number: int) -> dict[str, Any]:
        next_ = {"$ref": f"#/$defs/l{number}"}
        if below == "a":
            return {"properties": {"a": next_}}
        if below == "items":
            return {"items": next_}
        return {"additionalProperties": next_} if below == "additional" else next_

    definitions: dict[str, Any] = {}
    for level in range(levels):
        definitions[f"l{level}"] = {keyword: [step(level + 1)] * copies}
        if below == "unevaluated":
            definitions[f"l{level}"]["unevaluatedProperties"] = False
    last = draw(_leaves)
    definitions[f"l{levels}"] = {"anyOf": [step(0), last]} if closes else last
    return _apart({"$defs": definitions, "$ref": "#/$defs/l0"})


def _grown(size: int, unit: Any, build: Any) -> Any:
    """As many units as make up a value of about that many bytes."""
    return build(max(1, size // (len(json.dumps(unit, separators=(",", ":"))) + 1)))


def _chain(levels: int, kind: str, leaf: Any) -> Any:
    value = leaf
    for level in range(levels):
        if kind == "objects":
            value = {"a": value}
        elif kind == "arrays":
            value = [value]
        else:
            value = {"a": value, "b": leaf} if level % 2 else [value, leaf]
    return value


@st.composite
def shapes(draw: st.DrawFn) -> Any:
    """A function from a number of bytes to a value: the same value, larger."""
    leaf = draw(st.sampled_from(SCALARS))
    kind = draw(
        st.sampled_from(("array", "text", "object", "chains", "chain of arrays", "texts", "containers", "numbers"))
    )
    if kind == "text":
        piece = draw(st.sampled_from(("a", "ab", "b", "x ", "é", "中")))
        return lambda size: piece * (size // len(piece.encode()))
    if kind == "texts":
        length, piece = draw(st.sampled_from((5, 50, 500))), draw(st.sampled_from(("a", "ab", "ax")))
        return lambda size: [piece * (length // len(piece))] * (size // (length + 3))
    if kind == "object":
        prefix = draw(st.sampled_from(("k", "a", "ab" * 10)))
        return lambda size: {f"{prefix}{n}": leaf for n in range(size // (len(prefix) + 6 + len(json.dumps(leaf))))}
    if kind == "numbers":
        start = draw(st.sampled_from((0, 2**53, 2**62)))
        return lambda size: [start + n for n in range(size // (len(str(start)) + 6))]
    unit = leaf
    if kind == "containers":
        unit = draw(st.sampled_from(({}, [], {"a": 1}, {"a": {}, "b": []}, [[]], {"a": {"a": {"a": 1}}}, [1, 2])))
    if kind in ("chains", "chain of arrays"):
        levels, way = draw(st.integers(1, 40)), draw(st.sampled_from(("objects", "arrays", "both")))
        unit = _chain(levels, way, leaf)
    if kind == "chain of arrays":
        levels = draw(st.integers(1, 20))
        return lambda size: _apart(_chain(levels, "arrays", _grown(size, unit, lambda count: [unit] * count)))
    return lambda size: _apart(_grown(size, unit, lambda count: [unit] * count))


LARGE = 200_000
MOST_SECONDS = 1.0
MOST_GROWTH = 3.0
NOISE_SECONDS = 0.1
"""What is measured below this says more of the machine than of the schema."""


@dataclass(frozen=True)
class Example:
    """What came of one schema and one value: `refused` by which measure, or the seconds for both sizes."""

    refused: str = ""
    seconds: float = 0.0
    growth: float = 0.0
    is_recursive: bool = False
    fault: str = ""


def run_example(schema: dict[str, Any], shape: Any) -> Example:
    """Measure and compile a schema, validate two values of which one is twice the other, and explain what is wrong."""
    started = time.process_time()
    try:
        validator = compile_schema(schema, reason="invalid", of="t")
    except SchemaTooComplex as error:
        spent = time.process_time() - started
        return Example(refused=error.measure, fault=_slow("refusing", spent))
    except RegistryError:
        return Example(refused="invalid")
    compiling = time.process_time() - started
    half, whole = (_seconds_for(validator, shape(size)) for size in (LARGE // 2, LARGE))
    growth = whole / max(half, NOISE_SECONDS / 2)
    fault = _slow("compiling", compiling) or _slow("validating", whole)
    if whole > NOISE_SECONDS and growth > MOST_GROWTH:
        fault = f"{half:.3f} s for half of a value, {whole:.3f} s for all of it"
    return Example(
        seconds=whole,
        growth=growth,
        is_recursive=bool(validator.measures and validator.measures.recursive),
        fault=fault,
    )


def _slow(what: str, seconds: float) -> str:
    return f"{what} took {seconds:.2f} s" if seconds > MOST_SECONDS else ""


def _seconds_for(validator: CompiledSchema, value: Any) -> float:
    odd_numbers = may_be_odd(json.dumps(value))
    best = math.inf
    gc.disable()  # a collection in between would be measured with it
    try:
        for attempt in range(6):  # other guests of the machine slow down single attempts
            started = time.process_time()
            if not fits(validator, value, odd_numbers=odd_numbers):
                list(find_errors(validator, value))
            best = min(best, time.process_time() - started)
            if best < NOISE_SECONDS / 2 or (attempt and best < MOST_SECONDS / 2):
                break
    finally:
        gc.enable()
    return best
