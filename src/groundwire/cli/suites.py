"""The suites of applications, by name. Each application is imported when its suite is asked for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.contracts.canonical import JsonObject
    from groundwire.evals.loading import Suites
    from groundwire.evals.scenarios import Suite


def _supplier(options: "JsonObject") -> "Suite":
    from groundwire.apps.supplier.evaluation import make_suite

    return make_suite(options)


APP_SUITES: "Suites" = {"supplier": _supplier}
