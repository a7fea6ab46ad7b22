"""Signals to send."""

import base64

from groundwire.apps.supplier.contracts import FollowUpTiming, Signal, SignalType

KEY = f"whsec_{base64.b64encode(bytes([7]) * 32).decode()}"
NEW_KEY = f"whsec_{base64.b64encode(bytes([8]) * 32).decode()}"
LOOPBACK = ("127.0.0.0/8",)


def signal(number=1, **fields):
    values = {
        "session_id": "mes2-01",
        "signal_type": SignalType.HUMAN_ESCALATION,
        "severity": "medium",
        "reason": "quantity_too_low: 50个开不了机，印不了的",
        "signal_id": f"sig_{number}",
        "source": "summary-agent-llm",
        "timestamp": "2026-03-11T02:00:00.000Z",
        "goal_id": "customization",
        "supplier_quote": "50个开不了机，印不了的",
    }
    return Signal(**{**values, **fields})


FOLLOW_UP = signal(
    2,
    signal_type=SignalType.SCHEDULE_FOLLOW_UP,
    reason="明天给你准信: 24 h",
    follow_up_timing=FollowUpTiming(delay_hours=24.0, raw_phrase="明天给你准信", confidence="high"),
)
