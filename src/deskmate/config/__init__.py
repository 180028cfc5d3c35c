"""Settings: from the user's file, the environment and flags. Later ones win.

settings          what can be set, field by field
load_settings     reads the settings and says what is wrong with them
project_settings  what a trusted project may narrow
model_choice      which model is used

Nothing else reads a settings file, and nothing here reads the workspace: a repository must not decide where keys go.
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
