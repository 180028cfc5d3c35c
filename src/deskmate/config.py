"""Settings: what the user configured, in a file of their own, the environment and flags; later ones win.

Nothing else reads the environment or a settings file, and nothing here reads the workspace: a repository must not
decide where keys go. `app` and, through it, the faces stand above; `core.policy` names modes and rules below,
`core.spending` the caps.
"""

import difflib
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from deskmate.core.policy import Effect, Mode, Rule, known_rule
from deskmate.core.spending import Caps
from deskmate.errors import BadSettings

# Looked at in 2026-11: what a provider's key gets where no model is named.
DEFAULT_MODELS: Mapping[str, str] = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-5.5"}
# What the names of the store's slots can count.
MOST_CALLS = 10_000

_GUESSES = ((re.compile(r"claude"), "anthropic"), (re.compile(r"gpt|o[0-9]"), "openai"))
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "DESKMATE_MODEL": ("model",),
    "ANTHROPIC_API_KEY": ("anthropic", "key"),
    "ANTHROPIC_BASE_URL": ("anthropic", "base_url"),
    "OPENAI_API_KEY": ("openai", "key"),
    "OPENAI_BASE_URL": ("openai", "base_url"),
}
Layer: TypeAlias = dict[str, Any]
Place: TypeAlias = Callable[[tuple[str, ...]], str]


# -- what can be set ------------------------------------------------------------------------------


def _key(key: SecretStr) -> SecretStr:
    bare = key.get_secret_value().strip()
    if not re.fullmatch(r"[!-~]+", bare):
        raise ValueError
    return SecretStr(bare)


def _base_url(url: str) -> str:
    parts = urlsplit(url.strip())
    # Who writes a password into the address would see it again in every message that names the address.
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ValueError
    return url.strip().rstrip("/")


def _name(model: str) -> str:
    if not re.fullmatch(r"[!-~]+", model):
        raise ValueError
    return model


def _by_full_name(models: dict[str, "ModelSettings"]) -> dict[str, "ModelSettings"]:
    named = {full_name(model): of for model, of in models.items()}
    if None in named or len(named) < len(models):
        raise ValueError
    return {model: of for model, of in named.items() if model is not None}


def _rule(text: str) -> str:
    known_rule(Effect.ASK, text)
    return text


Name: TypeAlias = Annotated[str, AfterValidator(_name)]
Rules: TypeAlias = list[Annotated[str, AfterValidator(_rule)]]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]
Dollars: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Above: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Table(BaseModel):
    """A table of the settings file. A field's description is what is said to be expected of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class Provider(_Table):
    """Where a provider is and what opens it."""

    key: Annotated[SecretStr, AfterValidator(_key)] | None = Field(None, description="a key without spaces")
    base_url: Annotated[str, AfterValidator(_base_url)] | None = Field(
        None, description="an address such as http://localhost:11434/v1, without a password or a query"
    )

    @property
    def reachable(self) -> bool:
        """Whether it can be asked at all: servers of one's own often want no key."""
        return self.key is not None or self.base_url is not None


class Prices(_Table):
    """Dollars for a million tokens."""

    input: Dollars = Field(description="dollars for a million tokens")
    output: Dollars = Field(description="dollars for a million tokens")
    cache_read: Dollars = Field(0, description="dollars for a million tokens")
    cache_write: Dollars = Field(0, description="dollars for a million tokens")


class ModelSettings(_Table):
    """What the user knows better about one model."""

    window: Tokens | None = Field(None, description="a whole number of tokens, such as 200000")
    output: Tokens | None = Field(None, description="a whole number of tokens, such as 8000")
    prices: Prices | None = Field(None, description="a table with `input` and `output`, dollars for a million tokens")


class Permission(_Table):
    """Rules for what agents may do."""

    allow: Rules = Field([], description='a list of rules, such as ["bash(git diff *)"]')
    ask: Rules = Field([], description='a list of rules, such as ["bash(git push *)"]')
    deny: Rules = Field([], description='a list of rules, such as ["write_file(secrets/**)"]')


class _Written(_Table):
    """All that a settings file may hold."""

    model: Name | None = Field(None, description='a model such as "anthropic:claude-sonnet-5-5"')
    fallback_model: Name | None = Field(None, description='a model such as "openai:gpt-5.5"')
    anthropic: Provider = Field(Provider(), description="a table with `key` or `base_url`")
    openai: Provider = Field(Provider(), description="a table with `key` or `base_url`")
    permission_mode: Annotated[Mode, Field(strict=False)] | None = Field(None, description=f"one of {', '.join(Mode)}")
    permission: Permission = Field(Permission(), description="a table with `allow`, `ask` or `deny`")
    delegate: bool | None = Field(None, description="true or false")
    max_cost: Above | None = Field(None, description="a number of dollars above 0")
    max_tokens: Tokens | None = Field(None, description="a whole number of tokens, such as 2000000")
    max_time: Above | None = Field(None, description="a number of seconds above 0")
    max_members: Annotated[int, Field(ge=0)] = Field(100, description="a whole number of teammates, or 0")
    max_calls: Annotated[int, Field(ge=1, le=MOST_CALLS)] | None = Field(
        None, description=f"a whole number from 1 to {MOST_CALLS}"
    )
    max_member_cost: Above | None = Field(None, description="a number of dollars above 0")
    max_member_tokens: Tokens | None = Field(None, description="a whole number of tokens, such as 500000")
    max_steps: Annotated[int, Field(ge=1)] = Field(200, description="a whole number of at least 1")
    thinking_tokens: Annotated[int, Field(ge=1024)] | None = Field(None, description="a whole number of at least 1024")
    launcher: Literal["inline", "process"] = Field("inline", description="inline or process")
    models: Annotated[dict[str, ModelSettings], AfterValidator(_by_full_name)] = Field(
        {}, description='a table by model, such as [models."openai:llama3.1"]'
    )


class Settings(_Written):
    """What the user configured, checked.

    `permission_mode`, `delegate`: none leaves a team its own. `models` is by `provider:model`. `file`: where they write
    it, there or not. `warnings`: what they should be told. `colour`: whether they want any.
    """

    file: Path
    warnings: tuple[str, ...] = ()
    colour: bool = True

    @property
    def prices(self) -> dict[str, tuple[float, float, float, float]]:
        """The user's own prices: dollars for a million tokens of input, output, cache reads and cache writes."""
        return {
            model: (of.prices.input, of.prices.output, of.prices.cache_read, of.prices.cache_write)
            for model, of in self.models.items()
            if of.prices is not None
        }

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The user's own rules."""
        return tuple(Rule.parse(effect, text) for effect in Effect for text in getattr(self.permission, effect))

    @property
    def caps(self) -> Caps:
        """The caps on what a team spends."""
        return Caps(
            cost=self.max_cost,
            tokens=self.max_tokens,
            seconds=self.max_time,
            members=self.max_members,
            calls=self.max_calls,
            member_cost=self.max_member_cost,
            member_tokens=self.max_member_tokens,
            steps=self.max_steps,
        )

    @property
    def skills_folder(self) -> Path:
        """The folder of the user's own skills, there or not."""
        return self.file.parent / "skills"

    @staticmethod
    def error_log(environ: Mapping[str, str]) -> Path:
        """Return the file for errors of Deskmate itself, there or not. Settings that can be used are not needed."""
        return _own_folder(environ, "XDG_STATE_HOME", ".local/state") / "error.log"

    def provider_of(self, model: str) -> Provider:
        """Return where a `provider:model` is asked."""
        return {"anthropic": self.anthropic, "openai": self.openai}[model.partition(":")[0]]


# -- where it is set ------------------------------------------------------------------------------


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings, there or not."""
    return _own_folder(environ, "XDG_CONFIG_HOME", ".config")


def _own_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    home = Path(environ.get("HOME") or "/")
    chosen = Path(environ.get(variable, ""))
    return (chosen if chosen.is_absolute() else home / usual) / "deskmate"


def load(environ: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Settings:
    """Return the settings of the user's file, with the environment over it and flags over both.

    Flags go by the names of the fields. Raises BadSettings, naming the place and what is expected there.
    """
    file = config_folder(environ) / "settings.toml"
    written, readable = _read(file)
    layers: tuple[tuple[Layer, Place], ...] = (
        (written, lambda keys: f"'{'.'.join(keys)}' in {file}"),
        (_from_environment(environ), lambda keys: f"{_variable(keys)} in the environment"),
        (dict(flags or {}), lambda keys: f"the flag --{keys[0].replace('_', '-')}"),
    )
    merged: Layer = {}
    for layer, place in layers:
        _check(layer, place)
        merged = _over(merged, layer)
    warnings = _warnings(written, file) if readable else ()
    return Settings.model_validate(
        {**merged, "file": file, "warnings": warnings, "colour": not environ.get("NO_COLOR")}
    )


def _read(file: Path) -> tuple[Layer, bool]:
    """Return what a file holds, nothing where there is none, and whether others may read it."""
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read().decode("utf-8-sig")
    except FileNotFoundError:
        return {}, False
    except OSError as error:
        raise BadSettings(f"{file} cannot be read: {error.strerror}; make it a file that you may read") from error
    except UnicodeDecodeError as error:
        raise BadSettings(f"{file} is not UTF-8 from byte {error.start} on; save it as UTF-8") from None
    try:
        return tomllib.loads(text), bool(mode & (stat.S_IRGRP | stat.S_IROTH))
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{file} is no TOML: {error}; correct it there") from None


def _from_environment(environ: Mapping[str, str]) -> Layer:
    layer: Layer = {}
    for variable, keys in _VARIABLES.items():
        # An empty variable is how a shell takes one back.
        if value := environ.get(variable):
            layer = _over(layer, _nested(keys, value))
    return layer


def _nested(keys: tuple[str, ...], value: str) -> Layer:
    first, *rest = keys
    return {first: _nested(tuple(rest), value) if rest else value}


def _variable(keys: tuple[str, ...]) -> str:
    return next(variable for variable, set_ in _VARIABLES.items() if set_ == keys)


def _over(below: Layer, above: Layer) -> Layer:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _warnings(written: Layer, file: Path) -> tuple[str, ...]:
    if any("key" in written.get(provider, {}) for provider in DEFAULT_MODELS):
        return (f"{file} holds a key and others may read it; run: chmod 600 {shlex.quote(str(file))}",)
    return ()


# -- what is wrong with it ------------------------------------------------------------------------


def _check(layer: Layer, place: Place) -> None:
    try:
        _Written.model_validate(layer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        keys = tuple(str(key) for key in first["loc"])
        # Without its cause, which would show what stands there: that may be a key.
        raise BadSettings(_complaint(first["type"], keys, place, first["msg"])) from None


def _complaint(kind: str, keys: tuple[str, ...], place: Place, why: str) -> str:
    if keys[0] == "permission" and len(keys) > 2:
        return f"rule {int(keys[2]) + 1} of {place(keys[:2])}: {why.removeprefix('Value error, ')}"
    if keys[:-1] == ("models",):
        return f"{place(keys)} must be a table with `window`, `output` or `prices`"
    fields = _table_at(keys[:-1]).model_fields
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(keys[-1], fields, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(fields)}"
        return f"{place(keys)} is no setting; {hint}"
    return f"{place(keys)} must be {fields[keys[-1]].description}"


def _table_at(keys: tuple[str, ...]) -> type[_Table]:
    match keys:
        case ():
            return _Written
        case ("permission",):
            return Permission
        case ("models", _):
            return ModelSettings
        case ("models", _, "prices"):
            return Prices
        case _:
            return Provider


# -- which model ----------------------------------------------------------------------------------


def full_name(model: str) -> str | None:
    """Return a model's name as `provider:model`, its provider guessed where that is safe; None where it is not."""
    provider, colon, rest = model.partition(":")
    if colon and provider in DEFAULT_MODELS:
        return model if rest else None
    return next((f"{provider}:{model}" for pattern, provider in _GUESSES if pattern.match(model)), None)


def choose_model(settings: Settings, wanted: str | None = None) -> str:
    """Return the model to ask, as `provider:model`: wanted, else set, else the default of who has a key.

    Raises BadSettings where none can be told or its provider cannot be asked.
    """
    if wanted is not None:
        return _asked(wanted, settings)
    if settings.model is not None:
        return _asked(settings.model, settings)
    for model in DEFAULT_MODELS.values():
        if settings.provider_of(model).key is not None:
            return model
    for provider, model in DEFAULT_MODELS.items():
        if url := settings.provider_of(model).base_url:
            raise BadSettings(
                f"no model is set, and which ones {url} has cannot be guessed; "
                f"name one, as in --model {provider}:NAME or DESKMATE_MODEL={provider}:NAME"
            )
    raise BadSettings(_ways_to_set_a_key(settings))


def choose_fallback(settings: Settings) -> str | None:
    """Return the model to ask when the first gives no answer, as `provider:model`; None where none is set.

    Raises BadSettings as `choose_model` does.
    """
    return None if settings.fallback_model is None else _asked(settings.fallback_model, settings)


def _asked(model: str, settings: Settings) -> str:
    name = full_name(model)
    provider = model.removesuffix(":")
    if provider != model and provider in DEFAULT_MODELS:
        raise BadSettings(f"'{model}' names no model; write it behind the colon, as in {DEFAULT_MODELS[provider]}")
    if name is None:
        raise BadSettings(
            f"which provider has the model '{model}' cannot be told; write anthropic:{model} or openai:{model}, "
            "the latter also for every server that speaks like OpenAI's"
        )
    if not settings.provider_of(name).reachable:
        provider = name.partition(":")[0]
        raise BadSettings(
            f"{name} needs a key; set {provider.upper()}_API_KEY, or `key` under [{provider}] in {settings.file}"
            f" (or {provider.upper()}_BASE_URL for a server of your own)"
        )
    return name


def _ways_to_set_a_key(settings: Settings) -> str:
    return f"""no model can be asked: there is no key and no address of a server; set one of these
  ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment
  `key` under [anthropic] or [openai] in {settings.file}
  OPENAI_BASE_URL for a server of your own, such as http://localhost:11434/v1 for Ollama, with --model openai:NAME
to watch a team without a key: deskmate demo"""
