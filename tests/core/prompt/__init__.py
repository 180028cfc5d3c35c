"""From a transcript to a prompt."""
