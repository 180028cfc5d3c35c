#!/bin/sh
# Refuses commands that remove everything.
jq -r '.tool_input.command // ""' | grep -q 'rm -rf' || exit 0
echo "BLOCKED: dangerous rm command" >&2
exit 2
