"""A JSON Schema as a graph: which subschemas apply to the same value, which to its parts, and what is referred to.

Only what an evaluation can reach is in it. Knows nothing of limits.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any
from urllib.parse import unquote

_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "dependencies"})
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_BELOW = frozenset({
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
})  # fmt: skip
MAX_RESOURCES = 33
"""Resources of one document: itself, and those embedded in it."""
APPLICATORS = _IN_PLACE | _REFERENCES | _BELOW
_MAPS = frozenset({"patternProperties", "dependentSchemas", "dependencies"})


class Subschema:
    """One subschema and the numbers of those that it leads to.

    `parts` apply to the same value, as do `references`, each with its keyword. The rest apply to the value's own parts:
    `names` to members by name, `other_names` to members of other names, `any_names` to members of any, and so on for
    `items`; `keys` to the names themselves.
    """

    __slots__ = (
        "any_items", "any_names", "index", "items", "keys", "names",
        "other_items", "other_names", "parts", "references", "source",
    )  # fmt: skip

    def __init__(self, index: int, source: dict[str, Any]) -> None:
        self.index = index
        self.source = source
        self.parts: list[tuple[str, int]] = []
        self.references: list[tuple[str, int]] = []
        self.names: dict[str, int] = {}
        self.other_names: Sequence[int] = ()
        self.any_names: Sequence[int] = ()
        self.items: dict[int, int] = {}
        self.other_items: Sequence[int] = ()
        self.any_items: Sequence[int] = ()
        self.keys: Sequence[int] = ()

    def below(self) -> Iterable[int]:
        """Return the subschemas that apply to parts of the value."""
        others = (self.other_names, self.any_names, self.other_items, self.any_items, self.keys)
        return [*self.names.values(), *self.items.values(), *chain.from_iterable(others)]

    def in_place(self) -> Iterable[int]:
        """Return the subschemas that apply to the same value."""
        return [number for _, number in (*self.parts, *self.references)]


class GraphTooLarge(Exception):
    """The graph has more of something than it may have: subschemas, references or embedded resources."""

    def __init__(self, measure: str, value: int, limit: int) -> None:
        super().__init__(measure)
        self.measure, self.value, self.limit = measure, value, limit


class SchemaGraph:
    """Read from `schema`, whose number is 0. True and false have no number: nothing can be reached through them."""

    def __init__(self, schema: dict[str, Any], *, max_subschemas: int, max_references: int) -> None:
        self.subschemas: list[Subschema] = []
        self.references = 0
        self._numbers: dict[int, int] = {}
        self._max_subschemas = max_subschemas
        self._max_references = max_references
        self.document = Document(schema)
        self._number(schema)
        read = 0
        while read < len(self.subschemas):  # which grows as it is read
            self._read(self.subschemas[read])
            read += 1

    def _number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.subschemas)
            if number >= self._max_subschemas:
                raise GraphTooLarge("subschemas", number + 1, self._max_subschemas)
            self.subschemas.append(Subschema(number, value))
        return number

    def _read(self, node: Subschema) -> None:
        source = node.source
        if APPLICATORS.isdisjoint(source):  # as most are
            return
        for keyword in _IN_PLACE & source.keys():
            node.parts += [(keyword, number) for number in self._numbers_in(source[keyword], keyword)]
        for keyword in _REFERENCES & source.keys():
            if isinstance(reference := source[keyword], str):
                self._refer(node, keyword, reference)
        if isinstance(named := source.get("properties"), dict):
            node.names = {name: self._number(value) for name, value in named.items() if isinstance(value, dict)}
        node.other_names = self._all(source, "additionalProperties")
        node.any_names = self._all(source, "patternProperties", "unevaluatedProperties")
        node.keys = self._all(source, "propertyNames")
        if isinstance(source.get("items"), list):  # as earlier drafts wrote prefixItems
            node.items, node.other_items = self._listed(source["items"]), self._all(source, "additionalItems")
        else:
            node.items, node.other_items = self._listed(source.get("prefixItems")), self._all(source, "items")
        node.any_items = self._all(source, "contains", "unevaluatedItems")

    def _refer(self, node: Subschema, keyword: str, reference: str) -> None:
        targets = self.document.targets(reference)
        self.references += max(1, len(targets))
        if self.references > self._max_references:
            raise GraphTooLarge("references", self.references, self._max_references)
        node.references += [(keyword, self._number(target)) for target in targets]

    def _listed(self, values: Any) -> dict[int, int]:
        """By their places: true and false take one, but have no number."""
        listed = enumerate(values) if isinstance(values, list) else ()
        return {place: self._number(value) for place, value in listed if isinstance(value, dict)}

    def _all(self, source: dict[str, Any], *keywords: str) -> list[int]:
        return [
            number for keyword in keywords if keyword in source for number in self._numbers_in(source[keyword], keyword)
        ]

    def _numbers_in(self, value: Any, keyword: str) -> list[int]:
        values = parts_of(value) if isinstance(value, list) or keyword in _MAPS else (value,)
        return [self._number(each) for each in values if isinstance(each, dict)]


def find_components(subschemas: list[Subschema], edges: Callable[[Subschema], Iterable[int]]) -> list[list[int]]:
    """Return the strongly connected components (Tarjan), each after all those that it leads to.

    Several numbers in one, or one that leads to itself, are a cycle. With a stack of its own: a chain of references
    can be as long as the schema has subschemas.
    """
    found: list[list[int]] = []
    order, lowest = [-1] * len(subschemas), [0] * len(subschemas)
    pending: list[int] = []
    is_pending = [False] * len(subschemas)
    visited = 0
    for start in range(len(subschemas)):
        if order[start] >= 0:
            continue
        path = [(start, iter(edges(subschemas[start])))]
        while path:
            number, following = path[-1]
            if order[number] < 0:
                order[number] = lowest[number] = visited
                visited += 1
                pending.append(number)
                is_pending[number] = True
            for target in following:
                if order[target] < 0:
                    path.append((target, iter(edges(subschemas[target]))))
                    break
                if is_pending[target]:
                    lowest[number] = min(lowest[number], order[target])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[number])
                if lowest[number] == order[number]:
                    component = [pending.pop()]
                    while component[-1] != number:
                        component.append(pending.pop())
                    for member in component:
                        is_pending[member] = False
                    found.append(component)
    return found


class Document:
    """A schema document, in which references are looked up.

    A reference is taken to lead to whatever it could mean: the same pointer in any resource (`$id`) whose address may be
    meant, any anchor of that name. So no way of writing a reference can hide from a measure where it leads.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self.resources: list[dict[str, Any]] = [root]
        self._anchors: dict[str, list[dict[str, Any]]] = {}
        self._found: dict[str, list[dict[str, Any]]] = {}
        waiting: list[Any] = [root]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if value is not root and isinstance(value.get("$id"), str):
                    self.resources.append(value)
                    if len(self.resources) > MAX_RESOURCES:
                        raise GraphTooLarge("embeddedResources", len(self.resources) - 1, MAX_RESOURCES - 1)
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := value.get(keyword), str):
                        self._anchors.setdefault(name, []).append(value)
            waiting.extend(part for part in parts_of(value) if isinstance(part, (dict, list)))

    def targets(self, reference: str) -> list[dict[str, Any]]:
        """The subschemas that a reference may lead to; none if it leads out of the document or nowhere."""
        if reference not in self._found:
            self._found[reference] = self._find(reference)
        return self._found[reference]

    def _find(self, reference: str) -> list[dict[str, Any]]:
        address, _, fragment = reference.partition("#")
        meant = [each for each in self.resources if not address or _may_be(address, each.get("$id"))]
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment, []) if meant else []
        found: dict[int, dict[str, Any]] = {}
        for resource in meant:
            target: Any = resource
            for step in fragment.split("/")[1:]:
                target = _child(target, step.replace("~1", "/").replace("~0", "~"))
            if isinstance(target, dict):
                found[id(target)] = target
        return list(found.values())


def _may_be(address: str, identifier: Any) -> bool:
    """Whether a reference may mean a resource. Whatever it is relative to, its last step stays the same."""
    last = _last_step(address)
    return isinstance(identifier, str) and (last in ("", ".", "..") or last == _last_step(identifier.partition("#")[0]))


def _last_step(address: str) -> str:
    return re.split("[/:]", unquote(address))[-1]


def parts_of(value: Any) -> Iterable[Any]:
    """The members of an object, the items of an array."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _child(parent: Any, step: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(step)
    if isinstance(parent, list) and step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(parent):
        return parent[int(step)]
    return None
