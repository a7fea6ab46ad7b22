"""A loader of YAML that yields what JSON can say and nothing else. Imported only where somebody has written YAML."""

import re
from typing import Any

import yaml
from yaml.nodes import MappingNode, ScalarNode

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_STARTS = "-+.0123456789"


class PlainLoader(yaml.SafeLoader):
    """The core schema of YAML 1.2. Other tags than its own are refused."""

    yaml_implicit_resolvers: Any = {}  # noqa: RUF012 - PyYAML's own way
    yaml_constructors: Any = {}  # noqa: RUF012 - see above


def _mapping(loader: PlainLoader, node: MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = loader.construct_object(key, deep=True)
        if not isinstance(name, str):
            raise yaml.constructor.ConstructorError(
                None, None, f"{name!r:.80} is no name; write it in quotes", key.start_mark
            )
        if name in found:
            raise yaml.constructor.ConstructorError(None, None, f"{name!r:.80} is there twice", key.start_mark)
        found[name] = loader.construct_object(value, deep=True)
    return found


def _boolean(loader: PlainLoader, node: ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() == "true"


def _whole(loader: PlainLoader, node: ScalarNode) -> int:
    return int(str(loader.construct_scalar(node)))


def _number(loader: PlainLoader, node: ScalarNode) -> float:
    return float(str(loader.construct_scalar(node)))


def _nothing(_loader: PlainLoader, _node: ScalarNode) -> None:
    return None


for _tag, _pattern, _first in (
    ("null", _NULL, ["~", "n", "N", ""]),
    ("bool", _TRUE, list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list(_STARTS)),
):
    PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern.pattern})$"), _first)
for _tag, _construct in (
    ("null", _nothing),
    ("bool", _boolean),
    ("int", _whole),
    ("float", _number),
    ("str", yaml.SafeLoader.construct_scalar),
    ("seq", lambda loader, node: loader.construct_sequence(node, deep=True)),
    ("map", _mapping),
):
    PlainLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _construct)
PlainLoader.add_constructor(None, yaml.SafeLoader.construct_undefined)
