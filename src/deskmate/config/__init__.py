"""Settings: from the user's file, the environment and flags. Later ones win.

environment       the variables of this process
local_zone        the time zone of this machine
settings          what can be set, field by field
providers         the providers of models, and how each is reached
web_settings      what the user sets for the web
settings_loader   reads the settings and says what is wrong with them
project_settings  what a trusted project may narrow
model_choice      which model is used
telemetry_choice  what is exported to an OpenTelemetry collector

Nothing else reads a settings file, and nothing here reads the workspace: a repository must not decide where keys go.
"""

from deskmate.config.environment import can_draw, environment, names_collector, program_name, shell_name, wants_colour
from deskmate.config.local_zone import local_zone
from deskmate.config.model_choice import choose_fallback, choose_model
from deskmate.config.providers import DEFAULT_MODELS, Provider, ProviderAccess, split_effort
from deskmate.config.settings import (
    MOST_CALLS,
    ModelSettings,
    Permission,
    Prices,
    Settings,
    config_folder,
    state_folder,
)
from deskmate.config.settings_loader import extended, load, load_settings, overridden, store_url
from deskmate.config.web_settings import WebSettings

__all__ = [
    "DEFAULT_MODELS",
    "MOST_CALLS",
    "ModelSettings",
    "Permission",
    "Prices",
    "Provider",
    "ProviderAccess",
    "Settings",
    "WebSettings",
    "can_draw",
    "choose_fallback",
    "choose_model",
    "config_folder",
    "environment",
    "extended",
    "load",
    "load_settings",
    "local_zone",
    "names_collector",
    "overridden",
    "program_name",
    "shell_name",
    "split_effort",
    "state_folder",
    "store_url",
    "wants_colour",
]
