"""Counting on keys' limits, inside a transaction. Knows SQL and the rules of limits, but neither queue nor connection."""

from collections.abc import Sequence

from groundwire.contracts.keys import KeySpend, OverLimit
from groundwire.store import statements as sql
from groundwire.store.key_limits import Use, take
from groundwire.store.transactions import Transaction


async def spend_all(transaction: Transaction, spends: Sequence[KeySpend]) -> list[OverLimit | None]:
    """Count all spends, those of one key with one look at its rows; each sees what those before it took."""
    outcomes: list[OverLimit | None] = [None] * len(spends)
    by_key: dict[str, list[int]] = {}
    for index, spend in enumerate(spends):
        by_key.setdefault(spend.key_id, []).append(index)
    for key_id, indexes in sorted(by_key.items()):  # one order for all processes, so that no two wait for each other
        rows = await transaction.fetch(sql.SELECT_KEY_USAGE + transaction.row_lock, key_id)
        before = after = [Use(*row) for row in rows]
        for index in indexes:
            outcomes[index], after = take(spends[index], after)
        changed = [(key_id, place, *use) for place, use in enumerate(after) if use != before[place]]
        if changed:
            await transaction.change_many(sql.UPDATE_KEY_USAGE, changed)
    return outcomes
