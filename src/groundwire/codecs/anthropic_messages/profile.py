"""The dialect's name, and what one endpoint or model wants beyond it.

Knows no model names: which model needs which profile is the provider's business.
"""

from typing import Literal

from msgspec import Struct

DIALECT = "anthropic"


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
