"""Which files have a secret. They are not saved: a copy would be one more place to find it."""

from deskmate.core.policy.redaction import Redaction


def secrets_of(redaction: Redaction, path: str, data: bytes) -> set[str]:
    """Return the secrets in the name and the content of a file."""
    texts = (path, data.decode(errors="replace"))
    return {text[find.start : find.end] for text in texts for find in redaction.find(text)}
