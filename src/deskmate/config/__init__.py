"""Settings: what the user configured, in a file of their own, the environment and flags; later ones win.

Nothing else reads the environment or a settings file, and nothing here reads the workspace: a repository must not
decide where keys go. What a trusted one says is `narrowing`'s. `app` and, through it, the faces stand above.
"""

from deskmate.config.load_settings import load
from deskmate.config.model_choice import choose_fallback, choose_model
from deskmate.config.settings import (
    DEFAULT_MODELS,
    MOST_CALLS,
    ModelSettings,
    Permission,
    Prices,
    Provider,
    Settings,
    config_folder,
    full_name,
    state_folder,
)

__all__ = [
    "DEFAULT_MODELS",
    "MOST_CALLS",
    "ModelSettings",
    "Permission",
    "Prices",
    "Provider",
    "Settings",
    "choose_fallback",
    "choose_model",
    "config_folder",
    "full_name",
    "load",
    "state_folder",
]
