"""The dialect's name, and what one Gemini model or endpoint wants beyond it. The provider asks `profile_for` by the model's name.

Knows names only: whether a model exists, and what it costs, is not known here.
"""

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

DIALECT = "gemini"

_VERSION = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?(?![\d])")


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The defaults fit the newest text models of the Gemini API."""

    signatures: Literal["required", "optional"] = "required"
    """Whether the first call of each step of the current turn must carry a thought signature."""
    native_schema: bool = False
    """Declare functions with upper-case `parameters` instead of JSON Schema; for old models and for Live."""
    media_in_results: bool = True
    thinking: Literal["level", "budget", "none"] = "level"
    levels: tuple[str, ...] = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
    budget_range: tuple[int, int] = (0, 24_576)
    validated_mode: bool = True
    """Whether strict tools may be asked for with the mode VALIDATED."""
    output_with_tools: bool = True
    """Whether a form of the answer may be asked for beside tools; else the system prompt asks for it."""
    dropped_options: tuple[str, ...] = ()
    """Canonical names of options that are left out: `seed`, `presence_penalty`, `top_k` …"""


_NEWEST = Profile()
_PRO = Profile(levels=("LOW", "MEDIUM", "HIGH"))
_FIRST_PRO = Profile(levels=("LOW", "HIGH"))
_SECOND_HALF = Profile(signatures="optional", media_in_results=False, thinking="budget", output_with_tools=False)
_SECOND_HALF_PRO = replace(_SECOND_HALF, budget_range=(128, 32_768))
_OLD = Profile(
    signatures="optional",
    native_schema=True,
    media_in_results=False,
    thinking="none",
    validated_mode=False,
    output_with_tools=False,
)
_LIVE = Profile(signatures="optional", native_schema=True, media_in_results=False, thinking="budget")
_OPEN = Profile(signatures="optional", media_in_results=False, thinking="none", validated_mode=False)


def profile_for(model: str) -> Profile:
    """By the name alone, with or without its resource path; names that say no version count as the newest."""
    name = model.rpartition("/")[2].lower()
    if name.startswith("gemma"):
        return _OPEN
    if "-live" in name or "native-audio" in name:
        return _LIVE
    found = _VERSION.match(name)
    if found is None:
        return _NEWEST
    major, minor = int(found.group(1)), int(found.group(2) or 0)
    if major < 2 or (major == 2 and minor < 5):
        return _OLD
    is_pro = "-pro" in name
    if major == 2:
        return _SECOND_HALF_PRO if is_pro else _SECOND_HALF
    if is_pro:
        return _FIRST_PRO if (major, minor) == (3, 0) else _PRO
    return _NEWEST
