"""The dialect's name, and what single endpoints want beyond it."""

from msgspec import Struct

DIALECT = "openai-responses"


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What one endpoint or model wants beyond the dialect; the defaults are OpenAI's own newest API.

    `send_item_ids`: replay the ids of this dialect's items; off where they were never stored.
    `status_null`: write `status: null` on replayed calls that have none, for gateways that demand the member.
    `group_calls`: all calls of a step, then all outputs, nothing in between (DeepSeek's clone).
    `dropped_options`: members of the body that the endpoint refuses, such as `temperature` or `include`.
    `explicit_strict`: say `strict: false` for tools whose sender said nothing.
    `audio_input`: the endpoint takes sound in messages.
    `max_description`: the endpoint refuses longer descriptions of tools, so they are cut.
    """

    send_item_ids: bool = True
    status_null: bool = False
    group_calls: bool = False
    dropped_options: frozenset[str] = frozenset()
    explicit_strict: bool = True
    audio_input: bool = False
    max_description: int | None = None


DEFAULT_PROFILE = Profile()
