"""Digests: how an agent knows the bytes of a file again. Tools remember them, workspaces check them; nothing below."""

from hashlib import sha256


def digest(data: bytes) -> str:
    """Return the digest of a file's bytes: 16 hexadecimal digits."""
    return sha256(data).hexdigest()[:16]
