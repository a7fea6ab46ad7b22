"""Write a tool once, offer it to any model, and have every call checked, run at most once, and recorded."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.assembly import AuditSettings, Runtime, Settings, StoreSettings, load_settings
    from groundwire.contracts.errors import ErrorDetail, ErrorType, GroundwireError, ToolError
    from groundwire.contracts.intents import Intent, IntentType
    from groundwire.contracts.messages import Message, say
    from groundwire.contracts.records import ConfirmationStatus, EffectStatus
    from groundwire.contracts.results import ToolResult
    from groundwire.contracts.tools import Budget, Gate, Ground, ToolPolicy, Variant
    from groundwire.registry import Registry, Tool, tool
    from groundwire.runtime.context import Context
    from groundwire.runtime.invocation import Progress
    from groundwire.runtime.ledger import LedgerTimes
    from groundwire.runtime.policies.limits import ASSISTANT_PROFILE, Overrides, PolicyRule, Profile
    from groundwire.runtime.turns import Turn

__version__ = "0.1.0"

# Looked up on first use, so that importing groundwire costs next to nothing.
_HOMES = {
    "ASSISTANT_PROFILE": "groundwire.runtime.policies.limits",
    "AuditSettings": "groundwire.assembly",
    "Budget": "groundwire.contracts.tools",
    "ConfirmationStatus": "groundwire.contracts.records",
    "Context": "groundwire.runtime.context",
    "EffectStatus": "groundwire.contracts.records",
    "ErrorDetail": "groundwire.contracts.errors",
    "ErrorType": "groundwire.contracts.errors",
    "Gate": "groundwire.contracts.tools",
    "Ground": "groundwire.contracts.tools",
    "GroundwireError": "groundwire.contracts.errors",
    "Intent": "groundwire.contracts.intents",
    "IntentType": "groundwire.contracts.intents",
    "LedgerTimes": "groundwire.runtime.ledger",
    "Message": "groundwire.contracts.messages",
    "Overrides": "groundwire.runtime.policies.limits",
    "PolicyRule": "groundwire.runtime.policies.limits",
    "Profile": "groundwire.runtime.policies.limits",
    "Progress": "groundwire.runtime.invocation",
    "Registry": "groundwire.registry",
    "Runtime": "groundwire.assembly",
    "Settings": "groundwire.assembly",
    "StoreSettings": "groundwire.assembly",
    "Tool": "groundwire.registry",
    "ToolError": "groundwire.contracts.errors",
    "ToolPolicy": "groundwire.contracts.tools",
    "ToolResult": "groundwire.contracts.results",
    "Turn": "groundwire.runtime.turns",
    "Variant": "groundwire.contracts.tools",
    "load_settings": "groundwire.assembly",
    "say": "groundwire.contracts.messages",
    "tool": "groundwire.registry",
}

__all__ = [
    "ASSISTANT_PROFILE",
    "AuditSettings",
    "Budget",
    "ConfirmationStatus",
    "Context",
    "EffectStatus",
    "ErrorDetail",
    "ErrorType",
    "Gate",
    "Ground",
    "GroundwireError",
    "Intent",
    "IntentType",
    "LedgerTimes",
    "Message",
    "Overrides",
    "PolicyRule",
    "Profile",
    "Progress",
    "Registry",
    "Runtime",
    "Settings",
    "StoreSettings",
    "Tool",
    "ToolError",
    "ToolPolicy",
    "ToolResult",
    "Turn",
    "Variant",
    "load_settings",
    "say",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
