#!/usr/bin/env bash
# The gateway with sample tools and a sample conversation, until Ctrl-C. Usage: run.sh <folder of the groundwire command, from here>
#
# Everything it writes is in the folder demo/ (sample tools, tool_registry.json, groundwire.db). With the key of a vendor in
# the environment, a real model answers; without one, the built-in one does.
set -euo pipefail

commands="${1:-.venv/bin}"
bin="$(cd "$commands" && pwd)"
here="$(cd "$(dirname "$0")" && pwd)"
PATH="$bin:$PATH"
port="${GROUNDWIRE_PORT:-8741}"

# Else the conversation would be with whoever has the port.
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
  echo "Port $port is in use. Choose another: GROUNDWIRE_PORT=8751 make run" >&2
  exit 1
fi

[ -d demo/tools ] || groundwire init demo > /dev/null
cd demo
groundwire build tools/

groundwire serve --port "$port" &
gateway=$!
trap 'kill "$gateway" 2>/dev/null || true; wait "$gateway" 2>/dev/null || true' EXIT INT TERM

"$bin/python" "$here/sample_conversation.py" "http://127.0.0.1:$port" "$gateway" "$commands"
if [ -z "${RUN_ONCE:-}" ]; then
  wait "$gateway"
fi
