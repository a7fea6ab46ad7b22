#!/usr/bin/env bash
# A first look at Groundwire, offline, in a temporary folder. Usage: demo.sh <folder of the groundwire command>
set -euo pipefail

PATH="$(cd "${1:-.venv/bin}" && pwd):$PATH"
# The demo must not write into a store that the surrounding shell points at.
unset GROUNDWIRE_STORE DATABASE_URL

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

while IFS= read -r command <&3; do
  printf '\n$ %s\n' "$command"
  eval "$command"
done 3<<'COMMANDS'
groundwire init demo
cd demo
groundwire build tools/
groundwire tools list
groundwire call get_weather '{"city":"Tokyo"}' --json
groundwire call send_note '{"text":"hi"}' --idempotency-key k --json
groundwire call send_note '{"text":"hi"}' --idempotency-key k --json
groundwire audit verify
COMMANDS
