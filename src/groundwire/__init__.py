"""Write a tool once, offer it to any model, and have every call checked, run at most once, and recorded."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.agent import Agent, RunResult
    from groundwire.assembly import AuditSettings, Runtime, Settings, StoreSettings, load_settings, open_models
    from groundwire.contracts.errors import ErrorDetail, ErrorType, GroundwireError, ProviderError, ToolError
    from groundwire.contracts.failures import FailureKind
    from groundwire.contracts.intents import Intent, IntentType
    from groundwire.contracts.messages import Message, ResultItem, TextPart, say
    from groundwire.contracts.records import ConfirmationStatus, EffectStatus
    from groundwire.contracts.replies import Reply, ReplyEnded, ReplyPart, TextDelta
    from groundwire.contracts.requests import FunctionTool, ModelRequest, OutputFormat, SendOptions, ToolChoice
    from groundwire.contracts.results import ToolResult
    from groundwire.contracts.runs import Outcome
    from groundwire.contracts.tools import Budget, Gate, Ground, ToolPolicy, Variant
    from groundwire.registry import Registry, Tool, tool
    from groundwire.runtime.context import Context
    from groundwire.runtime.invocation import Progress
    from groundwire.runtime.ledger import LedgerTimes
    from groundwire.runtime.metrics import to_prometheus
    from groundwire.runtime.policies.limits import ASSISTANT_PROFILE, Overrides, PolicyRule, Profile
    from groundwire.runtime.runs import presets
    from groundwire.runtime.runs.comparing import Difference
    from groundwire.runtime.runs.options import RunLimits
    from groundwire.runtime.runs.prompts import attach
    from groundwire.runtime.runs.replaying import ReplayReport
    from groundwire.runtime.runs.settings import RunSettings
    from groundwire.runtime.turns import Turn

__version__ = "0.1.0"

# Looked up on first use, so that importing groundwire costs next to nothing.
_HOMES = {
    "ASSISTANT_PROFILE": "groundwire.runtime.policies.limits",
    "Agent": "groundwire.agent",
    "AuditSettings": "groundwire.assembly",
    "Budget": "groundwire.contracts.tools",
    "ConfirmationStatus": "groundwire.contracts.records",
    "Context": "groundwire.runtime.context",
    "Difference": "groundwire.runtime.runs.comparing",
    "EffectStatus": "groundwire.contracts.records",
    "ErrorDetail": "groundwire.contracts.errors",
    "ErrorType": "groundwire.contracts.errors",
    "FailureKind": "groundwire.contracts.failures",
    "FunctionTool": "groundwire.contracts.requests",
    "Gate": "groundwire.contracts.tools",
    "Ground": "groundwire.contracts.tools",
    "GroundwireError": "groundwire.contracts.errors",
    "Intent": "groundwire.contracts.intents",
    "IntentType": "groundwire.contracts.intents",
    "LedgerTimes": "groundwire.runtime.ledger",
    "Message": "groundwire.contracts.messages",
    "ModelRequest": "groundwire.contracts.requests",
    "Outcome": "groundwire.contracts.runs",
    "OutputFormat": "groundwire.contracts.requests",
    "Overrides": "groundwire.runtime.policies.limits",
    "PolicyRule": "groundwire.runtime.policies.limits",
    "Profile": "groundwire.runtime.policies.limits",
    "Progress": "groundwire.runtime.invocation",
    "ProviderError": "groundwire.contracts.errors",
    "Registry": "groundwire.registry",
    "ReplayReport": "groundwire.runtime.runs.replaying",
    "Reply": "groundwire.contracts.replies",
    "ReplyEnded": "groundwire.contracts.replies",
    "ReplyPart": "groundwire.contracts.replies",
    "ResultItem": "groundwire.contracts.messages",
    "RunLimits": "groundwire.runtime.runs.options",
    "RunResult": "groundwire.agent",
    "RunSettings": "groundwire.runtime.runs.settings",
    "Runtime": "groundwire.assembly",
    "SendOptions": "groundwire.contracts.requests",
    "Settings": "groundwire.assembly",
    "StoreSettings": "groundwire.assembly",
    "TextDelta": "groundwire.contracts.replies",
    "TextPart": "groundwire.contracts.messages",
    "Tool": "groundwire.registry",
    "ToolChoice": "groundwire.contracts.requests",
    "ToolError": "groundwire.contracts.errors",
    "ToolPolicy": "groundwire.contracts.tools",
    "ToolResult": "groundwire.contracts.results",
    "Turn": "groundwire.runtime.turns",
    "Variant": "groundwire.contracts.tools",
    "attach": "groundwire.runtime.runs.prompts",
    "load_settings": "groundwire.assembly",
    "open_models": "groundwire.assembly",
    "presets": "groundwire.runtime.runs.presets",
    "say": "groundwire.contracts.messages",
    "to_prometheus": "groundwire.runtime.metrics",
    "tool": "groundwire.registry",
}

__all__ = [
    "ASSISTANT_PROFILE",
    "Agent",
    "AuditSettings",
    "Budget",
    "ConfirmationStatus",
    "Context",
    "Difference",
    "EffectStatus",
    "ErrorDetail",
    "ErrorType",
    "FailureKind",
    "FunctionTool",
    "Gate",
    "Ground",
    "GroundwireError",
    "Intent",
    "IntentType",
    "LedgerTimes",
    "Message",
    "ModelRequest",
    "Outcome",
    "OutputFormat",
    "Overrides",
    "PolicyRule",
    "Profile",
    "Progress",
    "ProviderError",
    "Registry",
    "ReplayReport",
    "Reply",
    "ReplyEnded",
    "ReplyPart",
    "ResultItem",
    "RunLimits",
    "RunResult",
    "RunSettings",
    "Runtime",
    "SendOptions",
    "Settings",
    "StoreSettings",
    "TextDelta",
    "TextPart",
    "Tool",
    "ToolChoice",
    "ToolError",
    "ToolPolicy",
    "ToolResult",
    "Turn",
    "Variant",
    "attach",
    "load_settings",
    "open_models",
    "presets",
    "say",
    "to_prometheus",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if name == "presets" else getattr(home, name)
