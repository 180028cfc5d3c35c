"""Exit codes that several commands share."""

USAGE, UNUSABLE, INTERRUPTED = 2, 3, 130
