"""Providers' rules for tool names and descriptions: as warnings when tools are built, as a table when they are sent."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct

from groundwire.codecs.schemas.conversions import SchemaWarning
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.requests import DeclaredTool

# What models put around a tool's name: namespaces in front, an ending or a leaked control token behind.
_ADDED = re.compile(r"^(?:functions|default_api|tools)[.:]|(?:\.json|<\|.*|(?<!\s)\s+)$", re.DOTALL)


class NameRule(Struct, frozen=True, kw_only=True):
    """What a provider takes as a tool name: a first character, further characters, and a length."""

    first: str
    further: str
    max_length: int


def lint_tool_name(name: str, rule: NameRule) -> tuple[SchemaWarning, ...]:
    found: list[SchemaWarning] = []
    if not re.fullmatch(f"({rule.first}{rule.further}*)?", name):
        message = f"The name {name!r} must be {rule.first} followed by any of {rule.further}."
        found.append(SchemaWarning(code="name_characters", path="/name", message=message))
    if not 1 <= len(name) <= rule.max_length:
        message = f"The name has {len(name)} characters; 1 to {rule.max_length} are allowed."
        found.append(SchemaWarning(code="name_length", path="/name", message=message))
    return tuple(found)


def lint_description(description: str, max_length: int) -> tuple[SchemaWarning, ...]:
    if len(description) <= max_length:
        return ()
    message = f"The description has {len(description)} characters; some servers refuse more than {max_length}."
    return (SchemaWarning(code="description_length", path="/description", message=message),)


@cache
def _pattern_of(rule: NameRule) -> re.Pattern[str]:
    return re.compile(f"{rule.first}{rule.further}{{0,{rule.max_length - 1}}}")


def fit_description(description: str, max_length: int | None, path: str, losses: Losses) -> str:
    """Cut where an endpoint is known to refuse longer ones, and nowhere else."""
    if max_length is None or len(description) <= max_length:
        return description
    losses.add("option_adjusted", f"{path}.description", f"Cut to {max_length} characters.")
    return description[: max_length - 1] + "…"


class NameTable:
    """Tool names on the wire, and the way back.

    A name that obeys the rule is sent as it is; any other is cleaned and, if it was long or the clean form is taken,
    ends in a digest of the original, so that the same name always gives the same one. `tools` are those on offer: no
    clean form takes a name that one of them has.
    """

    __slots__ = ("_losses", "_offered", "_rule", "_taken", "_tools", "_wire", "names")

    def __init__(self, rule: NameRule, losses: Losses, tools: Iterable[DeclaredTool] = ()) -> None:
        self._tools = tools
        self._offered: frozenset[str] | None = None
        self._rule = rule
        self._losses = losses
        self._wire: dict[str, str] = {}
        self._taken: set[str] = set()
        self.names: dict[str, str] = {}

    def fresh(self, losses: Losses) -> "NameTable":
        """An empty table under the same rule, for the same tools."""
        return NameTable(self._rule, losses, self._tools)

    def adopt(self, other: "NameTable") -> None:
        """Declare the tools of another table under the same rule."""
        self.names.update(other.names)
        self._wire.update(other._wire)  # noqa: SLF001 - one of its own kind
        self._taken.update(other._taken)  # noqa: SLF001 - one of its own kind

    def declare(self, name: str, path: str) -> str:
        """A tool that is on offer: its wire name leads back to it."""
        if name in self._wire or name in self._taken or not self._is_valid(name):
            wire = self.wire(name, path)
            self.names[wire] = name
            return wire
        self._wire[name] = self.names[name] = name
        self._taken.add(name)
        return name

    def wire(self, name: str, path: str = "") -> str:
        known = self._wire.get(name)
        if known is not None:
            return known
        wire = name if self._is_valid(name) else self._cleaned(name)
        if wire in self._taken or (wire != name and self._is_offered(wire)):
            wire = self._digested(wire, name)
        while wire in self._taken:  # somebody else's tool is called as this one would be
            wire = self._digested(wire, f"{wire}\n{name}")
        self._wire[name] = wire
        self._taken.add(wire)
        if wire != name:
            self._losses.add("name_rewritten", path, f"{name!r} is sent as {wire!r}.")
        return wire

    def _is_valid(self, name: str) -> bool:
        """Every provider takes an identifier, which needs no pattern to be seen."""
        is_plain = name.isascii() and name.isidentifier() and len(name) <= self._rule.max_length
        return is_plain or _pattern_of(self._rule).fullmatch(name) is not None

    def _is_offered(self, name: str) -> bool:
        if self._offered is None:  # hardly ever asked for
            self._offered = frozenset([tool.name for tool in self._tools if tool.kind == "function"])
        return name in self._offered

    def _cleaned(self, name: str) -> str:
        clean = "".join(sign if re.fullmatch(self._rule.further, sign) else "_" for sign in name)
        if not re.match(self._rule.first, clean):
            clean = f"_{clean}"
        return clean if len(clean) <= self._rule.max_length else self._digested(clean, name)

    def _digested(self, clean: str, name: str) -> str:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{clean[: self._rule.max_length - 9]}_{digest}"


def original_name(name: str, names: Mapping[str, str]) -> str:
    """The caller's name for a name that a model gave: exact, else without what models are known to add around it."""
    if name in names or not names:
        return names.get(name, name)
    stripped = _ADDED.sub("", _ADDED.sub("", name))
    return names.get(stripped, name)
