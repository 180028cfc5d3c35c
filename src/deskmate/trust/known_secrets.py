"""The secrets this process knows, and that no other process reads them from its memory.

What is known goes into the pen, the workspace and the logs; `core.redaction` below says how it is found in a text.
"""

import os
import sys
from collections.abc import Mapping

from deskmate.config import DEFAULT_MODELS, Settings, load
from deskmate.core.policy.redaction import Redaction, secrets_in
from deskmate.errors import BadSettings

_PR_SET_DUMPABLE = 4


def redaction_of(settings: Settings | None = None, environ: Mapping[str, str] = os.environ) -> Redaction:
    """Return what replaces the keys in the settings, by default those of the user, and the secrets in the environment.

    Settings that cannot be read have no keys that anybody could use.
    """
    try:
        settings = settings or load(environ)
    except BadSettings:
        return Redaction(secrets_in(environ))
    keys = {provider: settings.provider_of(model).key for provider, model in DEFAULT_MODELS.items()}
    known = {f"{provider} key": key.get_secret_value() for provider, key in keys.items() if key}
    # Where a value has two names, the last is its own: that of a variable says more.
    return Redaction(known | secrets_in(environ))


def seclude() -> None:
    """Let no other process of this user read the memory and the environment of this one, where the system can.

    Root still can. It leaves no core dumps, and no debugger attaches.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
