"""Brings tables up to date: numbered scripts, each applied once per application, whoever comes first."""

from collections.abc import Sequence
from importlib.resources import files

from groundwire.contracts.errors import StoreError
from groundwire.store.transactions import Transaction

OWN = "groundwire"
SELECT_APPLIED = "SELECT name FROM schema_migrations WHERE app = $1"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS schema_migrations (app TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (app, name))"
)
_INSERT = "INSERT INTO schema_migrations (app, name) VALUES ($1, $2)"

Scripts = Sequence[tuple[str, str]]


def own_scripts(database: str) -> Scripts:
    """The store's own scripts for `sqlite` or `postgres`, in their order."""
    folder = files("groundwire.store").joinpath("migrations", database)
    found = [(file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(found)


def is_up_to_date(applied: Sequence[str], scripts: Scripts) -> bool:
    """Whether nothing is left to do; raises for tables that a newer version made."""
    known = {name for name, _ in scripts}
    newer = sorted(set(applied) - known)
    if newer:
        raise StoreError(f"the store was made by a newer version ({newer[-1]})", hint="Upgrade groundwire.")
    return known == set(applied)


async def migrate(transaction: Transaction, app: str, scripts: Scripts) -> None:
    """Apply what is missing. The caller keeps other processes out meanwhile."""
    await transaction.run_script(_CREATE)
    applied = {row[0] for row in await transaction.fetch(SELECT_APPLIED, app)}
    for name, script in scripts:
        if name not in applied:
            await transaction.run_script(script)
            await transaction.change(_INSERT, app, name)
