"""The one place that names concrete classes: settings in, a working runtime and models out."""

from groundwire.assembly.models import (
    SIMULATED,
    default_model,
    list_models,
    list_providers,
    open_models,
    refuse_stand_in,
    scripted_model,
)
from groundwire.assembly.runtimes import Runtime, scratch_runtime
from groundwire.assembly.settings import (
    AuditSettings,
    LocalSettings,
    ProviderSettings,
    Settings,
    SimulatorSettings,
    StoreSettings,
    TelemetrySettings,
    TrustSettings,
    load_settings,
    read_dotenv,
    settings_schema,
)
from groundwire.assembly.trust import open_trust, read_trust, trust_key

__all__ = [
    "SIMULATED",
    "AuditSettings",
    "LocalSettings",
    "ProviderSettings",
    "Runtime",
    "Settings",
    "SimulatorSettings",
    "StoreSettings",
    "TelemetrySettings",
    "TrustSettings",
    "default_model",
    "list_models",
    "list_providers",
    "load_settings",
    "open_models",
    "open_trust",
    "read_dotenv",
    "read_trust",
    "refuse_stand_in",
    "scratch_runtime",
    "scripted_model",
    "settings_schema",
    "trust_key",
]
