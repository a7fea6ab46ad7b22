"""What one subschema can evaluate at a value and at its parts, added up over the graph without expanding it.

A subschema's reach is its own cost and the sum of those that it applies to the same value; for the parts of the value,
it is the most that one of them can get. Every edge of the graph is added once, so this is linear in the schema.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from groundwire.registry.pattern_bounds import PatternCost
from groundwire.registry.schema_graph import APPLICATORS, SchemaGraph, Subschema, find_components, parts_of

# Costs of keywords, in evaluations of a plain subschema, which takes 5 to 10 ns (measured with jsonschema-rs 0.60).
_CONTAINER = 16  # comparing with one object or array of an enum
_NUMBER = 10  # comparing with one whole number of an enum that has other things too
_DECIMAL = 50  # comparing with one number that is not whole
_BOUND = 2  # minimum and the like
_WHOLE = 10  # multipleOf with a whole number
_FRACTION = 100  # multipleOf with a number that is not whole
_EXTREME = 1_000  # multipleOf with a number that only arbitrary precision can hold
_HASHED = 50  # uniqueItems, for each node below the array
_UNEVALUATED = 6  # building the set of evaluated names or items
_PATTERN = 3  # starting the pattern engine
_SEARCHED = 40
"""Names of an object schema up to which they are searched one by one, and beyond which they are hashed."""
DEEP = 1 << 20
"""As the `depth` of a reach: all levels below."""
_COSTLY = APPLICATORS | {
    "enum", "const", "multipleOf", "pattern", "uniqueItems", "required", "dependentRequired",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
}  # fmt: skip
_UNEVALUATED_KEYWORDS = ("unevaluatedProperties", "unevaluatedItems")
_EVALUATED_FIRST = frozenset({"allOf", "anyOf", "oneOf", "if"})
"""What these have evaluated counts only where they are valid, so they are evaluated once more to find that out."""


class SubschemaReach:
    """Evaluations of one node (`here`), and of its parts.

    `other_names` is for a member of any name, and `names` what a certain one gets besides; items likewise. `keys` is
    for the names themselves. `deep` counts what is done with every node below (uniqueItems).
    """

    __slots__ = ("deep", "depth", "here", "items", "keys", "names", "other_items", "other_names")

    def __init__(self) -> None:
        self.here = self.keys = self.other_names = self.other_items = self.deep = 0
        self.depth = 0
        """Levels of the value that are reached below the node."""
        self.names: dict[str, int] = {}
        self.items: dict[int, int] = {}

    def add(self, other: "SubschemaReach") -> int:
        """Count what is applied to the same value; returns how many properties had to be carried over."""
        self.here += other.here
        self.keys += other.keys
        self.other_names += other.other_names
        self.other_items += other.other_items
        self.deep += other.deep
        self.depth = max(self.depth, other.depth)
        _add(self.names, other.names)
        _add(self.items, other.items)
        return len(other.names) + len(other.items)

    def most_below(self) -> int:
        """The most evaluations of one node below."""
        named = self.other_names + max(0, *self.names.values()) if self.names else self.other_names
        listed = self.other_items + max(0, *self.items.values()) if self.items else self.other_items
        return max(named, listed, self.keys) + _HASHED * self.deep

    def most(self) -> int:
        """The most evaluations of one node, here or below."""
        return max(self.here, self.most_below())


class EvaluationRate(NamedTuple):
    """The most that one application of a subschema evaluates: of the value itself, and of each node below it.

    It reaches `depth` levels below; DEEP is all of them.
    """

    here: int
    below: int
    depth: int

    @property
    def most(self) -> int:
        """The most evaluations of one node, here or below."""
        return max(self.here, self.below)


_LEAF = SubschemaReach()
_LEAF.here = 1


class ReachTooLarge(Exception):
    """A subschema evaluates more than the limit. `value` is how much, of which measure."""

    def __init__(self, measure: str, value: int, limit: int) -> None:
        super().__init__(measure)
        self.measure, self.value, self.limit = measure, value, limit


class Reaches:
    """The reach of every subschema of a graph, except through the references in `cut`, which must break every cycle.

    Raises ReachTooLarge as soon as one is beyond `limit`, so that numbers and work stay small.
    """

    MAX_CARRIED = 1_000_000
    """Properties that may be carried over references: it bounds the time of measuring itself."""

    def __init__(
        self, graph: SchemaGraph, cut: frozenset[tuple[int, str]], patterns: Mapping[str, PatternCost], limit: int
    ) -> None:
        self._graph = graph
        self._cut = cut
        self._patterns = patterns
        self._limit = limit
        self._carried = 0
        self._reach: dict[int, SubschemaReach] = {}
        self._marking: dict[int, SubschemaReach] = {}
        self._most: dict[int, int] = {}
        marked = _marked(graph)
        for number in self._order():
            node = graph.subschemas[number]
            if number in marked:
                self._marking[number] = self._mark(node)
            reach = self._reach[number] = self._evaluate(node)
            self._most[number] = most = reach.most()
            if most > limit:
                raise ReachTooLarge("evaluations", most, limit)

    def rate_of(self, number: int) -> EvaluationRate:
        """What one application of a subschema costs."""
        whole = SubschemaReach()
        whole.add(self._reach[number])
        if number in self._marking:
            whole.add(self._marking[number])
        return EvaluationRate(whole.here, whole.most_below(), whole.depth)

    def _order(self) -> Iterator[int]:
        """Numbers of the subschemas, each after those that it leads to."""
        subschemas = self._graph.subschemas
        if not any(node.references for node in subschemas):  # a tree, numbered from its root
            return iter(range(len(subschemas) - 1, -1, -1))
        return (number for component in find_components(subschemas, self._edges) for number in component)

    def _edges(self, node: Subschema) -> Iterable[int]:
        return [*node.below(), *(number for _, number in node.parts), *self._followed(node)]

    def _followed(self, node: Subschema) -> list[int]:
        return [number for keyword, number in node.references if (node.index, keyword) not in self._cut]

    def _evaluate(self, node: Subschema) -> SubschemaReach:
        if _COSTLY.isdisjoint(node.source):  # as most are
            return _LEAF
        reach = self._own(node)
        for _, number in node.parts:
            self._add(reach, self._reach[number])
        for number in self._followed(node):
            self._add(reach, self._reach[number])
        if any(node.source.get(keyword, True) is not True for keyword in _UNEVALUATED_KEYWORDS):
            reach.here += _UNEVALUATED
            self._add(reach, self._marking[node.index])
        return reach

    def _mark(self, node: Subschema) -> SubschemaReach:
        """What it takes to know which members and items a subschema has evaluated."""
        reach = SubschemaReach()
        reach.here = 2
        reach.other_names = 1 + sum(self._most[number] for number in node.any_names)
        reach.other_items = 1 + sum(self._most[number] for number in node.any_items)
        reach.depth = 1 + max((self._reach[number].depth for number in (*node.any_names, *node.any_items)), default=0)
        self._count_name_patterns(node, reach)
        for keyword, number in node.parts:
            if keyword in _EVALUATED_FIRST:
                self._add(reach, self._reach[number])
            if keyword != "not":
                self._add(reach, self._marking[number])
        for number in self._followed(node):
            self._add(reach, self._marking[number])
        return reach

    def _add(self, reach: SubschemaReach, other: SubschemaReach) -> None:
        self._carried += reach.add(other)
        if self._carried > self.MAX_CARRIED:
            raise ReachTooLarge("carriedProperties", self._carried, self.MAX_CARRIED)
        if reach.here > self._limit:
            raise ReachTooLarge("evaluations", reach.here, self._limit)

    def _own(self, node: Subschema) -> SubschemaReach:
        """What the keywords of one subschema cost, and what they apply to the parts of a value."""
        source, most, reach = node.source, self._most, SubschemaReach()
        reach.here = 1 + _own_cost(source)
        if isinstance(pattern := source.get("pattern"), str):
            reach.here += _PATTERN + self._patterns[pattern].threads
        if source.get("uniqueItems") is True:
            reach.deep, reach.depth = 1, DEEP
        others = sum(most[number] for number in node.other_names)
        reach.other_names = others + sum(most[number] for number in node.any_names)
        reach.names = {name: most[number] - others for name, number in node.names.items()}
        if "properties" in source or "additionalProperties" in source:
            # Small sets of names are searched one by one, larger ones at once.
            reach.other_names += 1 + (len(node.names) // 16 if len(node.names) <= _SEARCHED else 0)
        if isinstance(required := source.get("required"), list):
            _add(reach.names, dict.fromkeys(map(str, required), 1))
        self._count_name_patterns(node, reach)
        reach.keys += sum(most[number] + 1 for number in node.keys)
        others = sum(most[number] for number in node.other_items)
        reach.other_items = others + sum(most[number] for number in node.any_items)
        reach.items = {index: most[number] - others for index, number in node.items.items()}
        if reach.names or reach.items or reach.other_names or reach.other_items or reach.keys:
            deepest = max((self._reach[number].depth for number in node.below()), default=0)
            reach.depth = max(reach.depth, 1 + deepest)
        return reach

    def _count_name_patterns(self, node: Subschema, reach: SubschemaReach) -> None:
        """Every name is compared with every pattern, whether or not it matches."""
        if isinstance(patterns := node.source.get("patternProperties"), dict):
            reach.other_names += _PATTERN * len(patterns)
            reach.keys += sum(self._patterns[pattern].threads for pattern in patterns)


def find_recursive_references(graph: SchemaGraph) -> frozenset[tuple[int, str]]:
    """Find references to what leads back to itself, as (number of the referring subschema, keyword)."""
    if not any(node.references for node in graph.subschemas):
        return frozenset()
    recursive: set[int] = set()
    for component in find_components(graph.subschemas, _all_edges):
        if len(component) > 1 or component[0] in _all_edges(graph.subschemas[component[0]]):
            recursive.update(component)
    return frozenset(
        (node.index, keyword) for node in graph.subschemas for keyword, number in node.references if number in recursive
    )


def has_loop_in_place(graph: SchemaGraph) -> bool:
    """Whether a reference leads back to itself for the same value, so that evaluating it would never end."""
    for component in find_components(graph.subschemas, Subschema.in_place):
        if len(component) > 1 or component[0] in graph.subschemas[component[0]].in_place():
            return True
    return False


def _all_edges(node: Subschema) -> Iterable[int]:
    return [*node.below(), *node.in_place()]


def _marked(graph: SchemaGraph) -> set[int]:
    """The subschemas whose evaluated members and items are needed by an unevaluated… keyword."""
    waiting = [
        node.index
        for node in graph.subschemas
        if any(node.source.get(keyword, True) is not True for keyword in _UNEVALUATED_KEYWORDS)
    ]
    marked: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number not in marked:
            marked.add(number)
            waiting.extend(graph.subschemas[number].in_place())
    return marked


def _own_cost(source: dict[str, Any]) -> int:
    cost = 0
    if isinstance(options := source.get("enum"), list):
        cost += _cost_of_options(options)
    if "const" in source:
        cost += _cost_of_option(source["const"])
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        cost += _BOUND * (keyword in source)
    if (factor := source.get("multipleOf")) is not None:
        cost += _cost_of_factor(factor)
    for keyword in ("allOf", "anyOf", "oneOf"):
        if isinstance(listed := source.get(keyword), list):
            cost += sum(isinstance(part, bool) for part in listed)
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        if isinstance(named := source.get(keyword), dict):
            cost += sum(1 + len(value) if isinstance(value, list) else 1 for value in named.values())
    return cost


def _cost_of_options(options: list[Any]) -> int:
    """Texts only, or whole numbers only, are looked up at once; other options are compared one by one."""
    if {type(option) for option in options} in ({str}, {int}):
        return 1
    return sum(map(_cost_of_option, options))


def _cost_of_option(option: Any) -> int:
    if isinstance(option, (dict, list)):
        return _CONTAINER + sum(map(_cost_of_option, parts_of(option)))
    if isinstance(option, float):
        return _NUMBER if option.is_integer() else _DECIMAL
    return _NUMBER if isinstance(option, int) else 1


def _cost_of_factor(factor: Any) -> int:
    if not isinstance(factor, (int, float)) or not 1e-30 < abs(factor) < 1e30:
        return _EXTREME
    return _WHOLE if float(factor).is_integer() else _FRACTION


def _add(counts: dict[Any, int], more: dict[Any, int]) -> None:
    if not counts:
        counts.update(more)
        return
    for name, number in more.items():
        counts[name] = counts.get(name, 0) + number
