"""The terminal UI, by pilot and snapshot."""
