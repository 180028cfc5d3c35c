"""How an agent recognises that a file has changed."""


def fingerprint(data: bytes) -> str:
    """Return the fingerprint of a file's bytes: 16 hexadecimal digits."""
    # Imported here because loading it would slow down every start.
    from hashlib import sha256

    return sha256(data).hexdigest()[:16]
