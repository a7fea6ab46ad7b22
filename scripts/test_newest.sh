#!/usr/bin/env bash
# The tests that depend most on the version of Python, on the newest one of this machine beside that of .venv.
# Usage: test_newest.sh <environment to make> [options of pytest]
set -euo pipefail
environment="$1"
shift

newest="$(.venv/bin/python -m scripts.newest_python)"
if [ -z "$newest" ]; then
  echo "Not run: this machine has no Python newer than that of .venv, $(.venv/bin/python -c 'import platform; print(platform.python_version())')."
  exit 0
fi
version="$("$newest" -c 'import platform; print(platform.python_version())')"
ready="$environment/ready"
if [ "$(cat "$ready" 2> /dev/null)" != "$version $PWD" ] || [ pyproject.toml -nt "$ready" ] || [ constraints.txt -nt "$ready" ]; then
  echo "Making $environment with Python $version"
  "$newest" -m venv --clear "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[all,dev]'
  echo "$version $PWD" > "$ready"
fi
"$environment/bin/python" -c 'import platform, sqlite3; print("Testing on Python", platform.python_version(), "with SQLite", sqlite3.sqlite_version)'
exec "$environment/bin/python" -m pytest -n logical --maxprocesses 8 --max-worker-restart 2 tests/jobs tests/crash tests/behaviours "$@"
