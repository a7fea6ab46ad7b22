"""What the doors share: exchanges over HTTP, request ids, keys, webhooks, and running a server.

Knows HTTP and keys, but no dialect's routes, nor which door is using it. The names here are for applications; they are
imported when they are asked for, because some bring a server with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.serving.endpoints import Asked, Endpoint
    from groundwire.serving.openapi import About
    from groundwire.serving.paging import (
        Before,
        Limit,
        PageQuery,
        SessionFilter,
        cursor_of,
        page,
        page_of,
        wanted_id,
    )
    from groundwire.serving.services import check_service, service_application
    from groundwire.serving.webhooks.addresses import check_webhook_target
    from groundwire.serving.webhooks.attempts import WEBHOOK_DELAYS, AttemptOutcome, AttemptResult, wait_after
    from groundwire.serving.webhooks.sending import WebhookDelivery, WebhookSender
    from groundwire.serving.webhooks.signing import (
        VerifiedWebhook,
        WebhookKey,
        WebhookRefused,
        new_webhook_key,
        sign_webhook,
        verify_webhook,
    )

_HOMES = {
    "About": "openapi",
    "Asked": "endpoints",
    "AttemptOutcome": "webhooks.attempts",
    "AttemptResult": "webhooks.attempts",
    "Before": "paging",
    "Endpoint": "endpoints",
    "Limit": "paging",
    "PageQuery": "paging",
    "SessionFilter": "paging",
    "VerifiedWebhook": "webhooks.signing",
    "WEBHOOK_DELAYS": "webhooks.attempts",
    "WebhookDelivery": "webhooks.sending",
    "WebhookKey": "webhooks.signing",
    "WebhookRefused": "webhooks.signing",
    "WebhookSender": "webhooks.sending",
    "check_service": "services",
    "check_webhook_target": "webhooks.addresses",
    "cursor_of": "paging",
    "new_webhook_key": "webhooks.signing",
    "page": "paging",
    "page_of": "paging",
    "service_application": "services",
    "sign_webhook": "webhooks.signing",
    "verify_webhook": "webhooks.signing",
    "wait_after": "webhooks.attempts",
    "wanted_id": "paging",
}

__all__ = [
    "WEBHOOK_DELAYS",
    "About",
    "Asked",
    "AttemptOutcome",
    "AttemptResult",
    "Before",
    "Endpoint",
    "Limit",
    "PageQuery",
    "SessionFilter",
    "VerifiedWebhook",
    "WebhookDelivery",
    "WebhookKey",
    "WebhookRefused",
    "WebhookSender",
    "check_service",
    "check_webhook_target",
    "cursor_of",
    "new_webhook_key",
    "page",
    "page_of",
    "service_application",
    "sign_webhook",
    "verify_webhook",
    "wait_after",
    "wanted_id",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire.serving' has no attribute {name!r}")
    return getattr(import_module(f"groundwire.serving.{_HOMES[name]}"), name)
