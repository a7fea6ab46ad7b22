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
  case $command in
    '# '*) printf '\n%s\n' "$command" ;;
    *)
      printf '\n$ %s\n' "$command"
      eval "$command"
      ;;
  esac
done 3<<'COMMANDS'
# A project with two sample tools: one reads, one acts.
groundwire init demo
cd demo
groundwire build tools/
groundwire tools list
groundwire call get_weather '{"city":"Tokyo"}' --json
# An action with a key runs once. The second call gets the stored result: "replayed" is true, and there is one note.
groundwire call send_note '{"text":"hi"}' --idempotency-key k --json
groundwire call send_note '{"text":"hi"}' --idempotency-key k --json
cat notes.txt
# A model calls them by itself. The built-in one needs no key; it understands nothing, but everything around it is real.
groundwire chat sim -m "What is the weather in Rome?"
# Every call is on record, and the record can be proved.
groundwire audit list
groundwire audit verify --checkpoint
COMMANDS
