"""A tool's policy as its author writes it: read it, and check that it speaks of arguments that exist.

Knows nothing of what the policy does; that is the runtime's business.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from groundwire.contracts.errors import RegistryError
from groundwire.contracts.shapes import explain_misfit
from groundwire.contracts.tools import ToolPolicy, ToolSpec
from groundwire.registry.validators import declared_arguments

POLICY_FIELDS = {field.name: field.encode_name for field in msgspec.structs.fields(ToolPolicy)}
_SCOPES = ("turn", "session", "request")


def read_policy(policy: object, fields: Mapping[str, Any], *, of: str) -> ToolPolicy:
    """Join a policy and single fields of it, given by their Python names, into one checked value."""
    if policy is not None and not isinstance(policy, (ToolPolicy, Mapping)):
        raise RegistryError(f"The policy of {of} is not a ToolPolicy.", reason="invalid_policy")
    try:
        whole = msgspec.to_builtins(policy or {})
        for name, value in fields.items():
            whole[POLICY_FIELDS[name]] = msgspec.to_builtins(_plain(value))
        return msgspec.convert(whole, ToolPolicy)
    except msgspec.ValidationError as error:
        fault, hint = explain_misfit(str(error), ToolPolicy)
        raise RegistryError(f"The policy of {of} is wrong: {fault}.", reason="invalid_policy", hint=hint) from None
    except TypeError as error:
        raise RegistryError(f"The policy of {of} is wrong: {error}", reason="invalid_policy") from None


def policy_problems(spec: ToolSpec, variants: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
    """Find what the policy names but the tool does not have, as (reason, message)."""
    declared = declared_arguments(spec.parameters)
    if declared is not None:
        for reason, kind, names in _named_arguments(spec.policy):
            for name in names:
                if name not in declared:
                    yield reason, f"{kind} names the argument {name!r}, which the schema does not declare."
    if variants is not None:
        missing = [variant.name for variant in spec.policy.variants if variant.name not in set(variants)]
        for name in missing:
            yield "variant_without_handler", f"The variant {name!r} has no function."


def _named_arguments(policy: ToolPolicy) -> Iterator[tuple[str, str, Iterable[str]]]:
    yield "supplied_not_declared", "policy.supplied", policy.supplied
    yield "ground_not_declared", "policy.ground", policy.ground
    for argument, rule in policy.ground.items():
        if not isinstance(rule.value, bool):
            yield "ground_not_declared", f"policy.ground.{argument}.value", rule.value
    if not isinstance(policy.scope, str):
        yield "scope_not_declared", "policy.scope", policy.scope
    yield "budget_not_declared", "policy.budget", [budget.by for budget in policy.budget if budget.by not in _SCOPES]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (set, frozenset)) else value
