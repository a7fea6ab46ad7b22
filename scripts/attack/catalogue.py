"""All attacks, in the order in which they run."""

from scripts.attack import (
    approvals,
    bodies,
    connections,
    handlers,
    http2,
    jobs,
    models,
    operator_views,
    origins,
    schemas,
    secrets_shown,
    stores,
    tenants,
    tool_folders,
    workers,
)

ATTACKS = (
    *schemas.ATTACKS,
    *connections.ATTACKS,
    *bodies.ATTACKS,
    *http2.ATTACKS,
    *workers.ATTACKS,
    *handlers.ATTACKS,
    *stores.ATTACKS,
    *origins.ATTACKS,
    *approvals.ATTACKS,
    *models.ATTACKS,
    *secrets_shown.ATTACKS,
    *tenants.ATTACKS,
    *operator_views.ATTACKS,
    *tool_folders.ATTACKS,
    *jobs.ATTACKS,
)
