#!/usr/bin/env bash
# The gateway with sample tools and a sample conversation, until Ctrl-C. Usage: run.sh <folder of the groundwire command>
#
# Everything it writes is in the folder demo/ (sample tools, tool_registry.json, groundwire.db). With the key of a vendor in
# the environment, a real model answers; without one, the built-in one does.
set -euo pipefail

bin="$(cd "${1:-.venv/bin}" && pwd)"
here="$(cd "$(dirname "$0")" && pwd)"
PATH="$bin:$PATH"
port="${GROUNDWIRE_PORT:-8741}"

[ -d demo/tools ] || groundwire init demo
cd demo
groundwire build tools/

groundwire serve --port "$port" &
gateway=$!
trap 'kill "$gateway" 2>/dev/null; wait "$gateway" 2>/dev/null || true' EXIT INT TERM

"$bin/python" "$here/sample_conversation.py" "http://127.0.0.1:$port" "$gateway"
if [ -z "${RUN_ONCE:-}" ]; then
  wait "$gateway"
fi
