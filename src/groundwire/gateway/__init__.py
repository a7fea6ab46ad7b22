"""The HTTP door: model endpoints in four dialects for clients, any model behind them.

Moves bytes between codecs, models and the runtime, holds no state of its own and knows no other door.
"""

from groundwire.gateway.answer_tables import AnswerTable
from groundwire.gateway.api import api_endpoints
from groundwire.gateway.background_responses import BackgroundResponses
from groundwire.gateway.health import Health, health_endpoints
from groundwire.gateway.metrics import metrics_endpoints
from groundwire.gateway.nearest import Nowhere
from groundwire.gateway.operations import model_operations, relay_operations
from groundwire.gateway.relay_routing import relay_routes
from groundwire.gateway.relay_sessions import RelaySessions
from groundwire.gateway.relay_tables import RelayTables
from groundwire.gateway.retention import Retention
from groundwire.gateway.routing import model_routes
from groundwire.gateway.schema_checks import SchemaChecks
from groundwire.gateway.services import Services
from groundwire.gateway.steps import Steps
from groundwire.gateway.tables import Tables
from groundwire.gateway.threads import Threads

__all__ = [
    "AnswerTable",
    "BackgroundResponses",
    "Health",
    "Nowhere",
    "RelaySessions",
    "RelayTables",
    "Retention",
    "SchemaChecks",
    "Services",
    "Steps",
    "Tables",
    "Threads",
    "api_endpoints",
    "health_endpoints",
    "metrics_endpoints",
    "model_operations",
    "model_routes",
    "relay_operations",
    "relay_routes",
]
