"""Which certificates are trusted: those of the system, or of SSL_CERT_FILE or SSL_CERT_DIR if one is set."""

import os
import re
import ssl
import sys
from collections.abc import Mapping

# Where Linux distributions have them, for a Python that was built to look somewhere else.
_USUAL_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
# OpenSSL looks for a file that is named after the hash of the authority's name.
_HASHED = re.compile("[0-9a-fA-F]{8}\\.[0-9]+")


def trusted_certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return what to check servers with. Raises OSError if what the environment names cannot be read.

    This takes 20 ms on Linux, where the certificates are read at once.
    """
    context = _context(environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR"))
    # Many companies sign without key identifiers. From 3.13 on, Python refuses that, and no other program does.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    if file:
        return ssl.create_default_context(cafile=file)
    if folder:
        return ssl.create_default_context(capath=folder)
    if sys.platform == "darwin":
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Also without a file in the usual places: then no server is trusted.
    return ssl.create_default_context(cafile=None if _has_certificates() else _usual_file())


def _has_certificates() -> bool:
    """Return whether OpenSSL finds certificates where it was built to look."""
    paths = ssl.get_default_verify_paths()
    names = os.listdir(paths.capath) if paths.capath else []
    return bool(paths.cafile) or any(_HASHED.fullmatch(name) for name in names)


def _usual_file() -> str | None:
    return next(filter(os.path.isfile, _USUAL_FILES), None)
