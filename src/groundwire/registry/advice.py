"""Advice: what an author should know about a tool that can be used all the same."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Advice:
    """`error`: it is not built. `warning`: a provider or reader may stumble. `info`: it could be better. `path` says where, if anywhere."""

    tool: str
    code: str
    severity: Severity
    message: str
    path: str = ""
