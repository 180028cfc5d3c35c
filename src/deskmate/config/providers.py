"""The providers of models: those that Deskmate knows, and those that the user describes."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from deskmate.core.policy.passed_variables import is_passed
from deskmate.core.values import frozen

Wire: TypeAlias = Literal["anthropic", "openai", "responses", "gemini", "bedrock", "vertex"]

# The model to use with a provider's key if none is named. Checked in 2026-11.
DEFAULT_MODELS: Mapping[str, str] = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-5.5"}
# They have tables of their own in the settings file.
OWN_TABLES = tuple(DEFAULT_MODELS)

Effort: TypeAlias = Literal["low", "medium", "high"]
_EFFORT = re.compile(r"(.+)@(low|medium|high)")

# Short names of models. `fast` is the small model of the first provider that can be used.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "sonnet": ("anthropic:claude-sonnet-5-5",),
    "opus": ("anthropic:claude-opus-5-5",),
    "haiku": ("anthropic:claude-haiku-5-5",),
    "fast": ("anthropic:claude-haiku-5-5", "openai:gpt-5.4-mini"),
}


@frozen
class Preset:
    """What is known of a provider. `is_local`: a server on this machine, which needs no key."""

    base_url: str | None
    key_env: str = ""
    wire: Wire = "openai"
    is_local: bool = False


# Checked in 2026-11. Those without an address have one for each customer or region.
PRESETS: Mapping[str, Preset] = {
    "anthropic": Preset("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    "openai": Preset("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "gemini": Preset("https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "gemini"),
    "openrouter": Preset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": Preset("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": Preset("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "azure": Preset(None, "AZURE_OPENAI_API_KEY"),
    "bedrock": Preset(None, "AWS_BEARER_TOKEN_BEDROCK", "bedrock"),
    "vertex": Preset(None, "VERTEX_ACCESS_TOKEN", "vertex"),
    "ollama": Preset("http://localhost:11434/v1", is_local=True),
    "vllm": Preset("http://localhost:8000/v1", is_local=True),
    "llamacpp": Preset("http://localhost:8080/v1", is_local=True),
    "lmstudio": Preset("http://localhost:1234/v1", is_local=True),
}
_NO_PRESET = Preset(None)
_GUESSES = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gpt|o[0-9]"), "openai"),
    (re.compile(r"gemini"), "gemini"),
)


class Table(BaseModel):
    """A table of the settings file. Error messages use a field's description to say what is expected."""

    # Built when `Settings` is, which contains them all.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, defer_build=True)


def _key(key: SecretStr) -> SecretStr:
    bare = key.get_secret_value().strip()
    if not re.fullmatch(r"[!-~]+", bare):
        raise ValueError
    return SecretStr(bare)


def _base_url(url: str) -> str:
    parts = urlsplit(url.strip())
    # A password in the address would be shown in every message that names the address.
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ValueError
    return url.strip().rstrip("/")


def _variable(name: str) -> str:
    # Agents would see a key in a variable that their commands get.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or is_passed(name):
        raise ValueError
    return name


def _headers(headers: dict[str, str]) -> dict[str, str]:
    if not all(re.fullmatch(r"[A-Za-z0-9-]+", name) and value.isprintable() for name, value in headers.items()):
        raise ValueError
    if not all(value.isascii() for value in headers.values()):
        raise ValueError
    return headers


class Provider(Table):
    """How a provider is reached, as far as the user says so."""

    key: Annotated[SecretStr, AfterValidator(_key)] | None = Field(None, description="a key without spaces")
    base_url: Annotated[str, AfterValidator(_base_url)] | None = Field(
        None, description="an address such as http://localhost:11434/v1, without a password or a query"
    )
    key_env: Annotated[str, AfterValidator(_variable)] | None = Field(
        None, description="the name of a variable that commands do not get, such as LAB_API_KEY"
    )
    wire: Wire | None = Field(None, description="anthropic, openai, responses, gemini, bedrock or vertex")
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = Field(
        {}, description='a table of HTTP headers, such as { x-team = "search" }'
    )


@frozen
class ProviderAccess:
    """How a provider is reached. `key_env`: the variable for its key. `headers`: what else each request has.

    `is_own`: the user set its address, or it is a server on this machine. `needs_key`: it is not asked without a key.
    """

    name: str
    base_url: str | None
    wire: Wire
    key: SecretStr | None
    key_env: str
    headers: Mapping[str, str]
    is_own: bool
    needs_key: bool

    @property
    def reachable(self) -> bool:
        """Whether it can be used at all. A user's own server often needs no key."""
        return self.base_url is not None and (self.key is not None or not self.needs_key)


def access_of(name: str, written: Provider) -> ProviderAccess:
    """Return how a provider is reached: as the user says, else as is known of it."""
    preset = PRESETS.get(name, _NO_PRESET)
    is_own = written.base_url is not None or preset.is_local
    return ProviderAccess(
        name=name,
        base_url=written.base_url or preset.base_url,
        wire=written.wire or preset.wire,
        key=written.key,
        key_env=key_variable(name, written.key_env),
        headers=written.headers,
        is_own=is_own,
        # A user who names the variable says that there is a key.
        needs_key=not is_own or written.key_env is not None,
    )


def key_variable(name: str, key_env: str | None) -> str:
    """Return the variable in which the key of a provider is."""
    known = PRESETS.get(name, _NO_PRESET).key_env
    return key_env or known or f"{re.sub('[^A-Z0-9]', '_', name.upper())}_API_KEY"


def split_effort(model: str) -> tuple[str, str | None]:
    """Return a model's name without its effort, and the effort: `sonnet@high` is `sonnet` and `high`."""
    found = _EFFORT.fullmatch(model)
    return (found[1], found[2]) if found else (model, None)


def full_name(model: str, providers: Mapping[str, object]) -> str | None:
    """Return a model's name as `provider:model`. Guesses the provider if that is safe, otherwise returns None.

    `providers`: those that the user describes. `provider/model` is the same as `provider:model`.
    """
    found = re.fullmatch(r"([^:/]+)[:/](.*)", model, re.DOTALL)
    if found and (found[1] in PRESETS or found[1] in providers):
        return f"{found[1]}:{found[2]}" if found[2] else None
    return next((f"{provider}:{model}" for pattern, provider in _GUESSES if pattern.match(model)), None)
