"""Checks that a request uses only models that its key allows: its own model, and every other member that selects one.

Requests of keys that allow every model are passed unchecked.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from groundwire.codecs.model_members import ModelMember, find_item_models, find_model_members, find_tool_models
from groundwire.codecs.wire.json import dump, read_object
from groundwire.contracts.errors import NotAllowed
from groundwire.contracts.keys import EVERYTHING, Caller
from groundwire.contracts.messages import NativeItem
from groundwire.contracts.requests import ModelRequest, NativeTool
from groundwire.contracts.texts import NAME_CHARS
from groundwire.providers.router import ModelRouter

_PRESET = "@preset/"
"""Follows a model's name at OpenRouter: names settings that are stored there, which may name other models."""
_PREFIX = "models/"
"""How Gemini writes a model's name outside of a path."""


def check_model(models: ModelRouter, caller: Caller, name: str) -> None:
    """Raise NotAllowed if the caller's key is for other models."""
    if caller.models != EVERYTHING:
        _globs_for(caller, name).check_model(name, "/".join(models.locate(name)))


def checked_body(models: ModelRouter, caller: Caller, body: bytes, path_model: str = "") -> bytes:
    """Return the body to use in place of the given one; raise NotAllowed if it selects a model that the key is not for.

    It is encoded again: of a member that occurs twice, the provider might read the one that was not checked. The model that
    the request is for is checked by `check_model`.
    """
    if caller.models == EVERYTHING:
        return body
    source = read_object(body)
    own = source.get("model")
    asked = path_model or (own if isinstance(own, str) else "")
    members = find_model_members(source)
    if path_model and isinstance(own, str) and own.removeprefix(_PREFIX) != path_model:
        members.append(ModelMember("model", own))
    _check(models, caller, asked, members)
    return dump(source)


def check_request(models: ModelRouter, caller: Caller, request: ModelRequest) -> None:
    """Check what a conversation adds to a request: tools, and items that declare some. Raises NotAllowed."""
    if caller.models == EVERYTHING:
        return
    tools = [tool.value for tool in request.tools if isinstance(tool, NativeTool)]
    items = [item.value for item in request.items if isinstance(item, NativeItem)]
    _check(models, caller, request.model, [*find_tool_models([*tools]), *find_item_models([*items])])


def _check(models: ModelRouter, caller: Caller, asked: str, members: Iterable[ModelMember]) -> None:
    provider, wire_name = models.locate(asked)
    for member in members:
        if not member.name:
            raise NotAllowed(
                f"This key is for some models only, and {member.path[:NAME_CHARS]} lets the provider choose one.",
                subject="model",
                hint="Leave it out, or name an allowed model in it.",
            )
        name = member.name.removeprefix(_PREFIX)
        # The provider reads it as one of its own names: an alias of ours means nothing, or another model, there.
        names = (name, f"{provider}/{name}") if models.locate(name) == (provider, name) else (f"{provider}/{name}",)
        if name != wire_name and not _globs_for(caller, name).may_use_model(*names):
            raise NotAllowed(
                f"This key may not use the model {name[:NAME_CHARS]}, which {member.path[:NAME_CHARS]} names.",
                subject="model",
            )


def _globs_for(caller: Caller, name: str) -> Caller:
    """The caller with those of its globs that apply to such a name: for a preset, only globs that name one."""
    if _PRESET not in name:
        return caller
    return replace(caller, models=tuple(glob for glob in caller.models if _PRESET in glob))
