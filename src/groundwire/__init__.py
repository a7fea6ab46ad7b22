"""Write a tool once, offer it to any model, and have every call checked, run at most once, and recorded."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.agent import Agent, RunResult
    from groundwire.assembly import (
        AuditSettings,
        Runtime,
        Settings,
        StoreSettings,
        TrustSettings,
        load_settings,
        open_models,
    )
    from groundwire.contracts.calls import ToolCall
    from groundwire.contracts.errors import (
        ConfigError,
        ErrorDetail,
        ErrorType,
        GroundwireError,
        NotExpressible,
        NotReliable,
        ProviderError,
        RegistryError,
        ToolError,
        TrustError,
        WireError,
    )
    from groundwire.contracts.events import (
        ApprovalRequested,
        CallDenied,
        CallFinished,
        CallProgress,
        CallStarted,
        Event,
        IntentApplied,
        RunEnded,
        RunStarted,
        TextDelta,
        TurnEnded,
    )
    from groundwire.contracts.failures import Failure, FailureKind
    from groundwire.contracts.intents import Intent, IntentType
    from groundwire.contracts.messages import CallItem, MediaPart, Message, ReasoningItem, ResultItem, TextPart, say
    from groundwire.contracts.projections import result_item
    from groundwire.contracts.records import ConfirmationStatus, EffectStatus
    from groundwire.contracts.replies import (
        FinishReason,
        Reply,
        ReplyEnded,
        ReplyPart,
        ReplyTextDelta,
        Usage,
        WireWarning,
    )
    from groundwire.contracts.requests import (
        FunctionTool,
        ModelRequest,
        NativeTool,
        OutputFormat,
        ReasoningOptions,
        Sampling,
        SendOptions,
        ToolChoice,
    )
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
    "ApprovalRequested": "groundwire.contracts.events",
    "AuditSettings": "groundwire.assembly",
    "Budget": "groundwire.contracts.tools",
    "CallDenied": "groundwire.contracts.events",
    "CallFinished": "groundwire.contracts.events",
    "CallItem": "groundwire.contracts.messages",
    "CallProgress": "groundwire.contracts.events",
    "CallStarted": "groundwire.contracts.events",
    "ConfigError": "groundwire.contracts.errors",
    "ConfirmationStatus": "groundwire.contracts.records",
    "Context": "groundwire.runtime.context",
    "Difference": "groundwire.runtime.runs.comparing",
    "EffectStatus": "groundwire.contracts.records",
    "ErrorDetail": "groundwire.contracts.errors",
    "ErrorType": "groundwire.contracts.errors",
    "Event": "groundwire.contracts.events",
    "Failure": "groundwire.contracts.failures",
    "FailureKind": "groundwire.contracts.failures",
    "FinishReason": "groundwire.contracts.replies",
    "FunctionTool": "groundwire.contracts.requests",
    "Gate": "groundwire.contracts.tools",
    "Ground": "groundwire.contracts.tools",
    "GroundwireError": "groundwire.contracts.errors",
    "Intent": "groundwire.contracts.intents",
    "IntentApplied": "groundwire.contracts.events",
    "IntentType": "groundwire.contracts.intents",
    "LedgerTimes": "groundwire.runtime.ledger",
    "MediaPart": "groundwire.contracts.messages",
    "Message": "groundwire.contracts.messages",
    "ModelRequest": "groundwire.contracts.requests",
    "NativeTool": "groundwire.contracts.requests",
    "NotExpressible": "groundwire.contracts.errors",
    "NotReliable": "groundwire.contracts.errors",
    "Outcome": "groundwire.contracts.runs",
    "OutputFormat": "groundwire.contracts.requests",
    "Overrides": "groundwire.runtime.policies.limits",
    "PolicyRule": "groundwire.runtime.policies.limits",
    "Profile": "groundwire.runtime.policies.limits",
    "Progress": "groundwire.runtime.invocation",
    "ProviderError": "groundwire.contracts.errors",
    "ReasoningItem": "groundwire.contracts.messages",
    "ReasoningOptions": "groundwire.contracts.requests",
    "Registry": "groundwire.registry",
    "RegistryError": "groundwire.contracts.errors",
    "ReplayReport": "groundwire.runtime.runs.replaying",
    "Reply": "groundwire.contracts.replies",
    "ReplyEnded": "groundwire.contracts.replies",
    "ReplyPart": "groundwire.contracts.replies",
    "ReplyTextDelta": "groundwire.contracts.replies",
    "ResultItem": "groundwire.contracts.messages",
    "RunEnded": "groundwire.contracts.events",
    "RunLimits": "groundwire.runtime.runs.options",
    "RunResult": "groundwire.agent",
    "RunSettings": "groundwire.runtime.runs.settings",
    "RunStarted": "groundwire.contracts.events",
    "Runtime": "groundwire.assembly",
    "Sampling": "groundwire.contracts.requests",
    "SendOptions": "groundwire.contracts.requests",
    "Settings": "groundwire.assembly",
    "StoreSettings": "groundwire.assembly",
    "TextDelta": "groundwire.contracts.events",
    "TextPart": "groundwire.contracts.messages",
    "Tool": "groundwire.registry",
    "ToolCall": "groundwire.contracts.calls",
    "ToolChoice": "groundwire.contracts.requests",
    "ToolError": "groundwire.contracts.errors",
    "ToolPolicy": "groundwire.contracts.tools",
    "ToolResult": "groundwire.contracts.results",
    "TrustError": "groundwire.contracts.errors",
    "TrustSettings": "groundwire.assembly",
    "Turn": "groundwire.runtime.turns",
    "TurnEnded": "groundwire.contracts.events",
    "Usage": "groundwire.contracts.replies",
    "Variant": "groundwire.contracts.tools",
    "WireError": "groundwire.contracts.errors",
    "WireWarning": "groundwire.contracts.replies",
    "attach": "groundwire.runtime.runs.prompts",
    "load_settings": "groundwire.assembly",
    "open_models": "groundwire.assembly",
    "presets": "groundwire.runtime.runs.presets",
    "result_item": "groundwire.contracts.projections",
    "say": "groundwire.contracts.messages",
    "to_prometheus": "groundwire.runtime.metrics",
    "tool": "groundwire.registry",
}

__all__ = [
    "ASSISTANT_PROFILE",
    "Agent",
    "ApprovalRequested",
    "AuditSettings",
    "Budget",
    "CallDenied",
    "CallFinished",
    "CallItem",
    "CallProgress",
    "CallStarted",
    "ConfigError",
    "ConfirmationStatus",
    "Context",
    "Difference",
    "EffectStatus",
    "ErrorDetail",
    "ErrorType",
    "Event",
    "Failure",
    "FailureKind",
    "FinishReason",
    "FunctionTool",
    "Gate",
    "Ground",
    "GroundwireError",
    "Intent",
    "IntentApplied",
    "IntentType",
    "LedgerTimes",
    "MediaPart",
    "Message",
    "ModelRequest",
    "NativeTool",
    "NotExpressible",
    "NotReliable",
    "Outcome",
    "OutputFormat",
    "Overrides",
    "PolicyRule",
    "Profile",
    "Progress",
    "ProviderError",
    "ReasoningItem",
    "ReasoningOptions",
    "Registry",
    "RegistryError",
    "ReplayReport",
    "Reply",
    "ReplyEnded",
    "ReplyPart",
    "ReplyTextDelta",
    "ResultItem",
    "RunEnded",
    "RunLimits",
    "RunResult",
    "RunSettings",
    "RunStarted",
    "Runtime",
    "Sampling",
    "SendOptions",
    "Settings",
    "StoreSettings",
    "TextDelta",
    "TextPart",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolError",
    "ToolPolicy",
    "ToolResult",
    "TrustError",
    "TrustSettings",
    "Turn",
    "TurnEnded",
    "Usage",
    "Variant",
    "WireError",
    "WireWarning",
    "attach",
    "load_settings",
    "open_models",
    "presets",
    "result_item",
    "say",
    "to_prometheus",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if name == "presets" else getattr(home, name)
