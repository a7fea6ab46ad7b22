import dataclasses
import datetime as dt
import enum
import math
import uuid
from collections import OrderedDict
from types import MappingProxyType

import msgspec
import pydantic
import pytest

from groundwire.contracts.errors import InvalidJson
from groundwire.runtime.output import encode_value


@dataclasses.dataclass
class Point:
    x: float
    tags: list = dataclasses.field(default_factory=list)


class Hit(pydantic.BaseModel):
    score: float
    where: Point | None = None


class Row(msgspec.Struct):
    value: float
    inner: list = []


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True, None, "x"]}, b'{"a":[1,2.5,true,null,"x"]}'),
        ((1, 2), b"[1,2]"),
        (Point(1.5, [Point(2.0)]), b'{"x":1.5,"tags":[{"x":2.0,"tags":[]}]}'),
        ([Hit(score=1, where=Point(0.5))], b'[{"score":1.0,"where":{"x":0.5,"tags":[]}}]'),
        (Row(value=1.5), b'{"value":1.5,"inner":[]}'),
        ({"c": Colour.RED}, b'{"c":"red"}'),
        (MappingProxyType({"a": 1}), b'{"a":1}'),
        (OrderedDict(b=1, a=2), b'{"b":1,"a":2}'),
        (dt.date(2026, 1, 2), b'"2026-01-02"'),
        (uuid.UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
        (10**40, b"1" + b"0" * 40),
        ({"big": [2**64]}, b'{"big":[18446744073709551616]}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_values_and_models_become_json(value, body):
    assert encode_value(value) == body


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [math.inf],
        {"a": {"b": [-math.inf]}},
        Point(math.nan),
        Point(1.0, [math.nan]),
        [Point(1.0, [{"deep": math.inf}])],
        Hit(score=math.nan),
        [Hit(score=1, where=Point(math.inf))],
        Row(value=math.nan),
        Row(value=1.0, inner=[{"a": math.nan}]),
        {"row": Row(value=math.inf)},
        {1, 2},
        {1: "a"},
        object(),
        b"bytes",
        "\ud800",
        {"k\udfff": 1},
        iter([1]),
        complex(1, 2),
        Point,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_json_is_refused_however_deep_it_hides(value):
    with pytest.raises(InvalidJson):
        encode_value(value)


def test_cycles_are_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(InvalidJson):
        encode_value(loop)
    point = Point(1.0)
    point.tags.append(point)
    with pytest.raises(InvalidJson):
        encode_value(point)


def test_a_model_that_cannot_serialize_itself_is_not_json():
    class Odd(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        thing: object

    with pytest.raises(InvalidJson):
        encode_value(Odd(thing=object()))


def test_large_integers_are_kept_inside_models_too():
    assert encode_value([Point(1.5, [10**20, Colour.RED])]) == b'[{"x":1.5,"tags":[100000000000000000000,"red"]}]'
