"""The secrets this process knows, and that no other process reads them from its memory.

They are redacted in all records, in the workspace and in the logs. `core.policy.redaction` finds them in a text.
"""

import sys
from collections.abc import Mapping

from deskmate.config import DEFAULT_MODELS, Settings, environment, load
from deskmate.core.policy.redaction import Redaction, secrets_in
from deskmate.errors import BadSettings

_PR_SET_DUMPABLE = 4


def redaction_of(settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> Redaction:
    """Return what redacts the keys in the settings, by default the user's, and the secrets in the environment.

    Settings that cannot be read have no usable keys. `environ`: by default the environment of this process.
    """
    environ = environment() if environ is None else environ
    try:
        settings = settings or load(environ)
    except BadSettings:
        return Redaction(secrets_in(environ))
    keys = {provider: settings.provider_of(model).key for provider, model in DEFAULT_MODELS.items()}
    known = {f"{provider} key": key.get_secret_value() for provider, key in keys.items() if key}
    # If a value has two names, the last one is used: the name of a variable says more.
    return Redaction(known | secrets_in(environ))


def seclude() -> None:
    """Keep other processes of this user from reading this one's memory and environment, if the system can.

    Root still can. The process leaves no core dumps, and no debugger can attach.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
