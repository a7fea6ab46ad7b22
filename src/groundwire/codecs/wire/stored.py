"""Members of a request that stand for what only the provider has: an earlier conversation, a prompt, a cache, files.

Without what they stand for, a request asks something else, so they are never merely left out.
"""

from groundwire.contracts.errors import NotExpressible
from groundwire.contracts.messages import Private

_STORED: dict[str, tuple[str, ...]] = {
    "openai-responses": ("previous_response_id", "conversation", "prompt"),
    "anthropic": ("thread", "container"),
    "gemini": ("cachedContent",),
}


def stored_members(extras: Private) -> list[tuple[str, str]]:
    """The dialect and the name of each such member that a request has."""
    return [
        (dialect, name)
        for dialect, members in extras.items()
        for name in _STORED.get(dialect, ())
        if members.get(name) is not None
    ]


def refuse_stored(extras: Private, dialect: str) -> None:
    """Raise for a request in this dialect that goes on from what is kept at a provider of another."""
    for origin, name in stored_members(extras):
        if origin != dialect:
            raise NotExpressible(
                f"{name} stands for something that is kept at the provider, and a request of {dialect} cannot name it.",
                path=f"extras.{origin}.{name}",
                hint="Put what it stands for into the request itself.",
            )
