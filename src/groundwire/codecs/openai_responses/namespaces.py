"""Functions that stand in a namespace. Other dialects have none: there a function goes by a name of its own.

That is the function's name, with the namespace in front where another tool is called the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import own_members
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item
from groundwire.contracts.requests import DeclaredTool, FunctionTool

NOTE = "_namespace"
"""The namespace of a function, without its tools."""
_OWN_NAME = "_name"


def with_names_of_their_own(tools: Sequence[DeclaredTool]) -> tuple[DeclaredTool, ...]:
    """The tools, none called as another; what stands in no namespace keeps its name."""
    counts = Counter(tool.name for tool in tools if isinstance(tool, FunctionTool))
    return tuple([_qualified(tool, counts) for tool in tools])


def _qualified(tool: DeclaredTool, counts: Mapping[str, int]) -> DeclaredTool:
    if not isinstance(tool, FunctionTool) or counts[tool.name] < 2:
        return tool
    members = own_members(tool.private, DIALECT)
    namespace = _name_of(members)
    if not namespace:
        return tool
    private = {**tool.private, DIALECT: {**members, _OWN_NAME: tool.name}}
    return replace(tool, name=f"{namespace.removesuffix('__')}__{tool.name}", private=private)


def bare_names(tools: Iterable[DeclaredTool]) -> dict[str, tuple[str, str]]:
    """The functions in namespaces: the name of each, and how that is spelled here, as namespace and name."""
    found: dict[str, tuple[str, str]] = {}
    for tool in tools:
        if isinstance(tool, FunctionTool) and tool.private:
            members = own_members(tool.private, DIALECT)
            if namespace := _name_of(members):
                found[tool.name] = (namespace, str(members.get(_OWN_NAME, tool.name)))
    return found


def told_name(item: JsonObject, name: str, names: Mapping[str, str] | None) -> str:
    """The caller's name for what a model called. `names` leads from names here to the caller's."""
    if not names:
        return name
    full = full_name(str(item.get("namespace")), name)
    return names[full] if full in names else original_name(name, names)


def full_name(namespace: str, name: str) -> str:
    return f"{namespace}.{name}"


def with_known_names(items: tuple[Item, ...], tools: Sequence[DeclaredTool]) -> tuple[Item, ...]:
    """The items of a request, with its calls by the names that its tools have."""
    known = {spelled: name for name, spelled in bare_names(tools).items() if spelled[1] != name}
    return tuple([_renamed(item, known) if isinstance(item, CallItem) else item for item in items]) if known else items


def _renamed(item: CallItem, known: Mapping[tuple[str, str], str]) -> CallItem:
    namespace = own_members(item.private, DIALECT).get("namespace")
    name = known.get((str(namespace), item.call.name))
    return item if name is None else replace(item, call=replace(item.call, name=name))


def _name_of(members: JsonObject) -> str:
    namespace = members.get(NOTE)
    name = namespace.get("name") if isinstance(namespace, dict) else None
    return name if isinstance(name, str) else ""
