#!/bin/sh
mkdir -p logs
jq -c '{event: .hook_event_name, tool: .tool_name}' >> logs/events.jsonl
