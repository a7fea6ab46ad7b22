"""Write the reference pages that are generated from code; with --check, only say which are stale.

A generator is a function that returns a page's whole text. It knows nothing of files: its path stands beside it.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.reference import (
    cli,
    dialects,
    envelope,
    errors,
    events,
    http,
    limits,
    models,
    pipeline,
    run_settings,
    settings,
    tool_folder,
)

ROOT = Path(__file__).resolve().parent.parent

Generator = Callable[[], str]

GENERATORS: Sequence[tuple[str, Generator]] = (
    ("docs/reference/cli.md", cli.generate),
    ("docs/reference/dialects.md", dialects.generate),
    ("docs/reference/envelope.md", envelope.generate),
    ("docs/reference/errors.md", errors.generate),
    ("docs/reference/events.md", events.generate),
    ("docs/reference/http.md", http.generate),
    ("docs/reference/limits.md", limits.generate),
    ("docs/reference/models.md", models.generate),
    ("docs/reference/pipeline.md", pipeline.generate),
    ("docs/reference/run-settings.md", run_settings.generate),
    ("docs/reference/settings.md", settings.generate),
    ("docs/reference/tool-folder.md", tool_folder.generate),
)


def find_stale(generators: Sequence[tuple[str, Generator]], root: Path) -> dict[Path, str]:
    """Map each page that differs from its generator to the text it should have."""
    wanted = {root / path: generate() for path, generate in generators}
    return {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    options = parser.parse_args()

    stale = find_stale(GENERATORS, ROOT)
    for path, text in stale.items():
        print(f"{'stale' if options.check else 'wrote'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    print(f"{len(GENERATORS)} reference pages, {len(stale)} {'stale' if options.check else 'rewritten'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
