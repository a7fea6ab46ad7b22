"""The dialect's name, what one endpoint or model wants beyond it, and how its private data is kept and given back.

Knows no model names: which model needs which profile is the provider's business.
"""

from typing import Literal

from msgspec import Struct

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Private

DIALECT = "anthropic"
"""Members of `private[DIALECT]` that begin with "_" are this codec's own notes on the shape; they never reach the wire."""

_NOTHING: JsonObject = {}


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The defaults are the vendor's newest API version and a model that takes all that the version takes.

    `thinking` says which configurations the model accepts: `any`, only `adaptive`, only a token `budget`, or `none`.
    """

    version: Literal["2023-06-01", "2026-10-21"] = "2023-06-01"
    allows_sampling: bool = True
    allows_forced_choice: bool = True
    allows_system_messages: bool = True
    allows_prefill: bool = True
    strict_tools: bool = True
    thinking: Literal["any", "adaptive", "budget", "none"] = "any"
    default_max_tokens: int = 4096
    max_temperature: float = 1.0

    @property
    def takes_sampling(self) -> bool:
        """The newer version has no sampling options at all."""
        return self.allows_sampling and self.version == "2023-06-01"


DEFAULT_PROFILE = Profile()


def kept(members: JsonObject) -> Private:
    """Members that only this dialect knows, as private data."""
    return {DIALECT: members} if members else {}


def own_private(private: Private, path: str, losses: Losses) -> JsonObject:
    """What is ours of the private data; the rest is told as lost, except other codecs' notes on shape."""
    if not private:
        return _NOTHING
    for dialect, members in private.items():
        if dialect != DIALECT and not all(name.startswith("_") for name in members):
            losses.add("private_dropped", path, f"Private data of {dialect} was left out.")
    return private.get(DIALECT, _NOTHING)


def give_back(block: JsonObject, own: JsonObject) -> JsonObject:
    """Put the private members back where they were."""
    for name, value in own.items():
        if name[:1] != "_" and name not in block:
            block[name] = value
    return block
