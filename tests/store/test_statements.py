"""Every look-up of a call has its index, and no list sorts a table. Where SQLite walks, it is said here."""

import re
from itertools import combinations

import pytest

from groundwire.store import open_url, statements
from groundwire.store.sqlite import SqliteStore, numbered

# What reads on purpose: rows in their order until enough were found, or what only an operator asks for.
WALKS = {
    "EFFECT_SEQ",
    "FIRST_KEPT",
    "FIRST_YOUNG_EFFECT",
    "LAPSE_EFFECTS",
    "LIST_ALL_EFFECTS",
    "LIST_ALL_RUNS",
    "LIST_AUDIT",
    "LIST_EFFECTS",
    "SELECT_EFFECT_BY_ID",
    "TOOLS_CALLED",
    "list_calls()",
    "list_calls(turn)",
    "list_calls(run_id)",
    "list_calls(turn, run_id)",
}
# A session's calls are found by the index of their ids, and are few.
SORTS = {
    "list_calls(session_id)",
    "list_calls(session_id, turn)",
    "list_calls(session_id, run_id)",
    "list_calls(session_id, turn, run_id)",
}
CALL_FILTERS = ("session_id", "turn", "run_id")
STATEMENTS = {
    **{
        name: value
        for name, value in vars(statements).items()
        if re.match("[A-Z]", name) and isinstance(value, str) and name != "BY_NUMBER"
    },
    **{
        f"list_calls({', '.join(by)})": statements.list_calls(*by)
        for count in range(len(CALL_FILTERS) + 1)
        for by in combinations(CALL_FILTERS, count)
    },
    "select_counters": statements.select_counters(3),
}
READS = {name: sql for name, sql in STATEMENTS.items() if not sql.startswith("INSERT")}


def placeholders(sql):
    return max((int(number) for number in re.findall(r"\$(\d+)", sql)), default=0)


@pytest.mark.parametrize("name", READS)
async def test_a_statement_goes_through_an_index(name, tmp_path):
    store = SqliteStore(tmp_path / "store.db")
    sql = READS[name]
    plan = await store.database.fetch(f"EXPLAIN QUERY PLAN {numbered(sql)}", *[None] * placeholders(sql))
    await store.shut()
    steps = [str(step["detail"]) for step in plan]
    tables = (
        *("sessions", "calls", "effects", "counters", "confirmations", "blobs", "runs", "run_entries", "audit"),
        *("api_keys", "key_usage", "key_changes"),
    )
    scans = [step for step in steps if step.startswith("SCAN") and any(f"SCAN {table}" in step for table in tables)]
    sorts = [step for step in steps if "TEMP B-TREE" in step]
    assert not scans or name in WALKS, steps
    assert not sorts or name in SORTS, steps


@pytest.mark.parametrize("name", READS)
async def test_a_statement_goes_through_an_index_on_a_server(name, postgres_url):
    store = open_url(postgres_url)
    await store.open()
    connection = store._reader._idle[0]
    # Empty tables are cheapest read whole, so that must be forbidden to see what else there is.
    await connection.execute(
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan"
    )
    await connection.execute(f"PREPARE statement AS {READS[name]}")
    nothing = ", ".join(["NULL"] * placeholders(READS[name]))
    plan = await connection.fetch(f"EXPLAIN EXECUTE statement{f'({nothing})' if nothing else ''}")
    await store.shut()
    text = "\n".join(row[0] for row in plan)
    if name not in {"FIRST_KEPT", "FIRST_YOUNG_EFFECT", "TOOLS_CALLED"}:
        assert not re.search(r"Seq Scan|\bSort\b", text), text
