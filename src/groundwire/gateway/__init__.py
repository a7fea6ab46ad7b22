"""The HTTP door: model endpoints in four dialects for clients, any model behind them.

Moves bytes between codecs, models and the runtime, holds no state of its own and knows no other door.
"""

from groundwire.gateway.answers import AnswerTable
from groundwire.gateway.relay_routing import relay_routes
from groundwire.gateway.relay_sessions import RelaySessions
from groundwire.gateway.relay_tables import RelayTables
from groundwire.gateway.routing import model_routes
from groundwire.gateway.services import Services
from groundwire.gateway.steps import Steps
from groundwire.gateway.tables import Tables
from groundwire.gateway.threads import Threads

__all__ = [
    "AnswerTable",
    "RelaySessions",
    "RelayTables",
    "Services",
    "Steps",
    "Tables",
    "Threads",
    "model_routes",
    "relay_routes",
]
