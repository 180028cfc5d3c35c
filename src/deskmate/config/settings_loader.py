"""Reads the settings and says what is wrong with them."""

import difflib
import os
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from deskmate.config.environment import environment, wants_colour
from deskmate.config.providers import OWN_TABLES, PRESETS, Provider, Table, key_variable
from deskmate.config.settings import (
    McpServer,
    ModelSettings,
    Permission,
    Prices,
    Settings,
    TreeSettings,
    Written,
    claude_folder,
    config_folder,
    state_folder,
)
from deskmate.errors import BadInput, BadSettings, Problem
from deskmate.fs.safe_files import read_regular

# The settings that are tables, with settings of their own.
_TABLES = frozenset({"anthropic", "openai", "providers", "permission", "tree", "models", "mcp"})
_MOST_BYTES = 16_000_000
# Fields that say where a setting of a provider comes from.
_PLACED = {"addresses": "base_url", "key_places": "key"}
Layer: TypeAlias = dict[str, Any]
Keys: TypeAlias = tuple[str, ...]
Place: TypeAlias = Callable[[Keys], str]
# The variable of each setting that has one, besides the keys.
_VARIABLES: Mapping[Keys, str] = {
    ("model",): "DESKMATE_MODEL",
    ("permission_mode",): "DESKMATE_PERMISSION_MODE",
    ("max_cost",): "DESKMATE_MAX_COST",
    ("store",): "DESKMATE_STORE",
    ("anthropic", "base_url"): "ANTHROPIC_BASE_URL",
    ("openai", "base_url"): "OPENAI_BASE_URL",
}

# Variables with a number.
_NUMBERS = frozenset({"DESKMATE_MAX_COST"})


def load(environ: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Settings:
    """Return the settings of the user's file, with the environment over it and flags over both.

    Flags have the names of the fields. Raises BadSettings with the place and what is expected there.
    """
    file = config_folder(environ) / "settings.toml"
    written, readable = _read(file)
    _check(written, lambda keys: f"'{'.'.join(keys)}' in {file}")
    variables = _variables(written)
    from_environment = _from_environment(environ, variables)
    _check(from_environment, lambda keys: f"{variables[keys]} in the environment")
    from_flags = dict(flags or {})
    _check(from_flags, lambda keys: f"The option --{keys[0].replace('_', '-')}")
    merged = _over(_over(written, from_environment), from_flags)
    warnings = _warnings(written, file) if readable else ()
    own = {
        "file": file,
        "state": state_folder(environ),
        "claude_folder": claude_folder(environ),
        "warnings": warnings,
        "colour": wants_colour(environ),
    }
    settings = Settings.model_validate({**merged, **own})
    return settings.model_copy(
        update={field: _places(settings, environ, variables, setting) for field, setting in _PLACED.items()}
    )


def extended(settings: Settings, more: Mapping[str, tuple[str, ...]]) -> Settings:
    """Return settings with more items in some of their lists, by option: allow, deny, network, add-dir.

    Raises BadSettings that names the option.
    """
    rules = {name: list(more.get(name, ())) for name in ("allow", "deny")}
    hosts, folders = list(more.get("network", ())), list(more.get("add-dir", ()))
    layer = {"permission": rules, "network": hosts, "writable": folders}
    options = {"network": "network", "writable": "add-dir"}
    _check(layer, lambda keys: f"The option --{options.get(keys[0]) or keys[-1]}")
    added, own = Written.model_validate(layer), settings.permission
    permission = own.model_copy(
        update={name: [*getattr(own, name), *getattr(added.permission, name)] for name in ("allow", "deny")}
    )
    listed = settings.network if isinstance(settings.network, list) else []
    network = settings.network if settings.network is True or not hosts else [*listed, *hosts]
    writable = [*settings.writable, *added.writable]
    return settings.model_copy(update={"permission": permission, "network": network, "writable": writable})


def store_url(environ: Mapping[str, str]) -> str | None:
    """Return the URL of the store that the environment or the user's file sets, None for the workspace itself.

    Settings that cannot be read set none: commands that need the others say what is wrong. Raises BadSettings for a
    store that is no URL.
    """
    try:
        written, _ = _read(config_folder(environ) / "settings.toml")
    except BadSettings:
        written = {}
    found = _over(written, _from_environment(environ, _VARIABLES)).get("store")
    if found is None:
        return None
    where = "DESKMATE_STORE in the environment" if environ.get("DESKMATE_STORE") else "'store' in the settings"
    _check({"store": found}, lambda keys: where)
    return str(found)


def load_settings(**overrides: object) -> Settings:
    """Return the user's settings: those of the settings file, then of the environment, then these.

    Overrides have the names of the fields: `load_settings(max_cost=2.0)`. None counts as not given. Raises BadSettings.
    """
    return overridden(load(environment()), overrides)


def overridden(settings: Settings, overrides: Mapping[str, object]) -> Settings:
    """Return settings with these values instead, by field. None counts as not given. Raises BadSettings."""
    layer = {name: value for name, value in overrides.items() if value is not None}
    _check(layer, lambda keys: f"The argument {keys[0]}")
    valid = Written.model_validate(layer)
    return settings.model_copy(update={name: getattr(valid, name) for name in layer})


def _variables(written: Layer) -> Mapping[Keys, str]:
    """Return the variable of each setting that has one. `written`: the settings file, which is valid."""
    own = {name: table for name, table in written.items() if name in OWN_TABLES}
    described: Layer = {**{name: {} for name in PRESETS}, **own, **written.get("providers", {})}
    keys = {_keys_of(name, "key"): key_variable(name, table.get("key_env")) for name, table in described.items()}
    return {**keys, **_VARIABLES}


def _keys_of(provider: str, setting: str) -> Keys:
    return (provider, setting) if provider in OWN_TABLES else ("providers", provider, setting)


def _places(
    settings: Settings, environ: Mapping[str, str], variables: Mapping[Keys, str], setting: str
) -> dict[str, str]:
    """Return where a setting of a provider was set, by provider."""
    names = {keys: variable for keys, variable in variables.items() if environ.get(variable)}
    places = {name: _keys_of(name, setting) for name in settings.described_providers}
    return {
        name: names.get(keys) or f"{'.'.join(keys)} in {settings.file}"
        for name, keys in places.items()
        if getattr(settings.described_providers[name], setting)
    }


def _read(file: Path) -> tuple[Layer, bool]:
    """Return the content of a file, empty if there is none, and whether others may read it."""
    try:
        # The real path, because many users keep the file elsewhere and have a link here.
        place = os.path.realpath(file)
        data, mode = read_regular(place, _MOST_BYTES), os.stat(place).st_mode
    except FileNotFoundError:
        return {}, False
    except OSError as error:
        raise BadSettings(
            f"Cannot read {file}: {error.strerror}", "Check that it is a file and that you can read it."
        ) from error
    return read_toml(data, file), bool(mode & (stat.S_IRGRP | stat.S_IROTH))


def read_toml(data: bytes, file: Path | str) -> Layer:
    """Return what a settings file contains. Raises BadSettings if it is not TOML."""
    # Import this only if there is such a file.
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadSettings(f"{file} is not valid UTF-8 at byte {error.start}", "Save it as UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSettings(f"{file} is not valid TOML: {error}", "Correct the file.") from None


def _from_environment(environ: Mapping[str, str], variables: Mapping[Keys, str]) -> Layer:
    layer: Layer = {}
    for keys, variable in variables.items():
        # An empty variable counts as unset.
        if value := environ.get(variable):
            layer = _over(layer, _nested(keys, _number(value) if variable in _NUMBERS else value))
    return layer


def _number(value: str) -> float | str:
    """Return the number in a variable. Any other text is refused as a setting."""
    try:
        return float(value)
    except ValueError:
        return value


def _nested(keys: tuple[str, ...], value: str | float) -> Layer:
    first, *rest = keys
    return {first: _nested(tuple(rest), value) if rest else value}


def _over(below: Layer, above: Layer) -> Layer:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _warnings(written: Layer, file: Path) -> tuple[Problem, ...]:
    tables = [*(written.get(name, {}) for name in OWN_TABLES), *written.get("providers", {}).values()]
    if any("key" in table for table in tables):
        return (
            Problem(
                f"{file} contains an API key, and other users can read it", f"Run: chmod 600 {shlex.quote(str(file))}"
            ),
        )
    return ()


# -- what is wrong with it ------------------------------------------------------------------------


def _check(layer: Layer, place: Place) -> None:
    try:
        Written.model_validate(layer)
    except ValidationError as error:
        # Without its cause, which would show the value: that may be a key.
        raise _complaint(*first_error(error), place) from None


def first_error(error: ValidationError) -> tuple[ErrorDetails, tuple[str, ...]]:
    """Return the first thing that is wrong, and the keys that lead to it."""
    first = error.errors(include_url=False, include_input=False)[0]
    return first, tuple(str(key) for key in first["loc"])


def _complaint(found: ErrorDetails, keys: tuple[str, ...], place: Place) -> BadSettings:
    if keys[0] == "permission" and len(keys) > 2:
        return rule_complaint(f"Rule {int(keys[2]) + 1} of {place(keys[:2])}", found)
    if keys[0] == "hooks" and isinstance(cause := found.get("ctx", {}).get("error"), BadInput):
        return BadSettings(f"{place(keys[:1])}: {cause.message}", cause.hint)
    if keys[0] not in _TABLES:
        # The other keys say which item of a list, or which of two types, does not fit.
        keys = keys[:1]
    if keys[0] == "tree":
        # A third key says which folder of a list.
        keys = keys[:2]
    if keys[0] == "mcp":
        # Further keys say which item of a list or which variable does not fit.
        keys = keys[:3]
    if keys[:-1] == ("mcp",):
        return BadSettings(f"{place(keys)} must be a table with `command` or `url`")
    if keys[0] == "providers" and keys[-1] == "[key]":
        instead = f"Write [{keys[1]}] instead." if keys[1] in OWN_TABLES else "Use small letters, digits, - and _."
        return BadSettings(f"{place(keys[:2])} cannot be the name of a provider here", instead)
    if keys[:-1] == ("providers",):
        return BadSettings(f"{place(keys)} must be a table with `base_url`")
    if keys[0] in (*OWN_TABLES, "providers") and "headers" in keys:
        # A further key says which header does not fit.
        keys = keys[: keys.index("headers") + 1]
    if keys[:-1] == ("models",):
        return BadSettings(f"{place(keys)} must be a table with `window`, `output` or `prices`")
    fields = _table_at(keys[:-1]).model_fields
    if found["type"] == "extra_forbidden":
        near = difflib.get_close_matches(keys[-1], fields, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"Settings here: {', '.join(fields)}"
        return BadSettings(f"{place(keys)} is not a setting", hint)
    return BadSettings(f"{place(keys)} must be {fields[keys[-1]].description}")


def rule_complaint(rule: str, found: ErrorDetails) -> BadSettings:
    """Return the error for a rule that cannot be used."""
    cause = found.get("ctx", {}).get("error")
    if isinstance(cause, BadInput):
        return BadSettings(f"{rule}: {cause.message}", cause.hint)
    return BadSettings(f"{rule} must be a string")


def _table_at(keys: tuple[str, ...]) -> type[Table]:
    match keys:
        case ():
            return Written
        case ("permission",):
            return Permission
        case ("tree",):
            return TreeSettings
        case ("mcp", _):
            return McpServer
        case ("models", _):
            return ModelSettings
        case ("models", _, "prices"):
            return Prices
        case _:
            return Provider
