"""What can be set, field by field."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from deskmate.config.providers import (
    DEFAULT_MODELS,
    OWN_TABLES,
    Effort,
    Provider,
    ProviderAccess,
    Table,
    access_of,
    full_name,
)
from deskmate.config.web_settings import WebSettings, as_table
from deskmate.core.policy.claude_rules import is_of_home, translate
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, known_rule
from deskmate.core.team.caps import Caps
from deskmate.errors import Problem

# The most that the names of the store's slots can count.
MOST_CALLS = 10_000


def _name(model: str) -> str:
    if not re.fullmatch(r"[!-~]+", model):
        raise ValueError
    return model


def _by_full_name(models: dict[str, "ModelSettings"], info: ValidationInfo) -> dict[str, "ModelSettings"]:
    providers = info.data.get("providers", {})
    named = {full_name(model, providers): of for model, of in models.items()}
    if None in named or len(named) < len(models):
        raise ValueError
    return {model: of for model, of in named.items() if model is not None}


def _provider_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name) or name in OWN_TABLES:
        raise ValueError
    return name


def _alias(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", name):
        raise ValueError
    return name


def _rule(text: str) -> str:
    for one in translate(text):
        known_rule(Effect.ASK, one)
    return text


def _at_home(text: str) -> str:
    # Rules are compared with resolved paths.
    return text.replace("~/", f"{os.path.realpath(Path.home())}/", 1) if is_of_home(text) else text


def _folder(path: str) -> str:
    # Any other path would depend on the current folder.
    if not path.startswith(("/", "~/")):
        raise ValueError
    return path


def _inside(path: str) -> str:
    # Git gives these characters a meaning of their own.
    if (
        not path.strip("/")
        or ".." in path.split("/")
        or path.startswith("/")
        or re.search(r"[\\*?\[\]!#\0-\x1f]", path)
    ):
        raise ValueError
    return path.strip("/")


def _command(text: str) -> str:
    # Raises ValueError for a quotation mark that is not closed.
    if not shlex.split(text):
        raise ValueError
    return text


def _store(url: str) -> str:
    if not re.fullmatch(r"[a-z]+://[!-~]+", url):
        raise ValueError
    return url


def _hooks(described: dict[str, Any]) -> dict[str, Any]:
    # Imported only if there are hooks.
    from deskmate.core.hooks.hook_tables import checked_hooks

    if described:
        checked_hooks(described)
    return described


Folders: TypeAlias = list[Annotated[str, AfterValidator(_folder)]]
Name: TypeAlias = Annotated[str, AfterValidator(_name)]
Rules: TypeAlias = list[Annotated[str, AfterValidator(_rule)]]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]
Dollars: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Above: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class McpServer(Table):
    """An MCP server of the user. `core.mcp.server_entries` checks what the fields say together."""

    command: str | None = Field(None, description="the program to start")
    args: list[str] = Field([], description='a list of texts, such as ["-y", "some-server"]')
    env: dict[str, str] = Field({}, description="a table of variables for the program")
    url: str | None = Field(None, description="an address that begins with https://")
    headers: dict[str, str] = Field({}, description="a table of HTTP headers")
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(60, description="a number of seconds, at most 3600")
    sandbox: bool = Field(True, description="true or false")
    network: bool | list[str] | None = Field(None, description="true, false or a list of hosts")
    per_member: bool = Field(False, description="true or false")

    @property
    def fields(self) -> dict[str, object]:
        """Its fields as a JSON file has them, where a time limit is in milliseconds."""
        given = self.model_dump(exclude_none=True, exclude_defaults=True)
        return {**given, "timeout": self.timeout * 1000} if "timeout" in given else given


class Prices(Table):
    """US dollars for a million tokens."""

    input: Dollars = Field(description="dollars for a million tokens")
    output: Dollars = Field(description="dollars for a million tokens")
    cache_read: Dollars = Field(0, description="dollars for a million tokens")
    cache_write: Dollars = Field(0, description="dollars for a million tokens")


class ModelSettings(Table):
    """What the user sets for one model."""

    window: Tokens | None = Field(None, description="a whole number of tokens, such as 200000")
    output: Tokens | None = Field(None, description="a whole number of tokens, such as 8000")
    prices: Prices | None = Field(None, description="a table with `input` and `output`, dollars for a million tokens")


class Permission(Table):
    """Rules for what agents may do."""

    allow: Rules = Field([], description='a list of rules, such as ["bash(git diff *)"]')
    ask: Rules = Field([], description='a list of rules, such as ["bash(git push *)"]')
    deny: Rules = Field([], description='a list of rules, such as ["write_file(secrets/**)"]')


class TreeSettings(Table):
    """How the own copies of teammates are made."""

    setup: str = Field("", description='a command such as "uv sync", or nothing')
    sparse: list[Annotated[str, AfterValidator(_inside)]] = Field(
        [], description='a list of folders of the repository, such as ["src", "docs/pictures"]'
    )


class Written(Table):
    """Everything that a settings file may contain."""

    model: Name | None = Field(None, description='a model such as "anthropic:claude-sonnet-5-5"')
    fallback_model: Name | None = Field(None, description='a model such as "openai:gpt-5.5"')
    anthropic: Provider = Field(Provider(), description="a table with `key` or `base_url`")
    openai: Provider = Field(Provider(), description="a table with `key` or `base_url`")
    providers: dict[Annotated[str, AfterValidator(_provider_name)], Provider] = Field(
        {}, description="a table by provider, such as [providers.lab]"
    )
    aliases: dict[Annotated[str, AfterValidator(_alias)], Name] = Field(
        {}, description='a table of models, such as { search = "ollama/qwen3:8b" }'
    )
    permission_mode: Annotated[Mode, Field(strict=False)] | None = Field(None, description=f"one of {', '.join(Mode)}")
    permission: Permission = Field(Permission(), description="a table with `allow`, `ask` or `deny`")
    sandbox: bool = Field(True, description="true or false")
    network: bool | list[str] = Field(
        False, description='true, false, or a list of hosts, such as ["example.org", "*.example.org:8443"]'
    )
    web: Annotated[WebSettings, BeforeValidator(as_table)] = Field(
        WebSettings(fetch=False), description="true, false, or a table with `fetch` or `search`"
    )
    writable: Folders = Field([], description='a list of folders, such as ["~/.cache/go-build"]')
    hidden: Folders = Field([], description='a list of folders or files, such as ["~/letters"]')
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
    effort: Effort | None = Field(None, description="low, medium or high")
    thinking_tokens: Annotated[int, Field(ge=1024)] | None = Field(None, description="a whole number of at least 1024")
    isolation: Annotated[Isolation, Field(strict=False)] = Field(
        Isolation.AUTO, description=f"one of {', '.join(Isolation)}"
    )
    tree: TreeSettings = Field(TreeSettings(), description="a table with `setup` or `sparse`")
    check: str = Field("", description='a command such as "make test", or nothing')
    merge: Literal["ask", "auto", "leave"] = Field("auto", description="ask, auto or leave")
    checkpoints: Annotated[int, Field(ge=0)] = Field(200, description="a whole number of checkpoints, or 0")
    checkpoint_days: Above = Field(30, description="a number of days above 0")
    mcp: dict[str, McpServer] = Field({}, description="a table by server, such as [mcp.github]")
    mcp_variables: list[str] = Field([], description='a list of variables, such as ["GITHUB_TOKEN"]')
    store: Annotated[str, AfterValidator(_store)] | None = Field(
        None, description="an address such as postgresql://deskmate@db.example.org/teams", repr=False
    )
    launcher: Literal["inline", "process"] = Field("inline", description="inline or process")
    theme: Literal["auto", "dark", "light", "terminal"] = Field("auto", description="auto, dark, light or terminal")
    notify: bool | Annotated[str, AfterValidator(_command)] = Field(
        True, description='true, false, or a command such as "notify-send Deskmate"'
    )
    hooks: Annotated[dict[str, Any], AfterValidator(_hooks)] = Field(
        {}, description="tables of hooks by event, such as [[hooks.PostToolUse]]"
    )
    claude_hooks: bool = Field(False, description="true or false")
    models: Annotated[dict[str, ModelSettings], AfterValidator(_by_full_name)] = Field(
        {}, description='a table by model, such as [models."openai:llama3.1"]'
    )


class Settings(Written):
    """The user's settings, checked.

    `permission_mode`, `delegate`: None keeps those of the team. `models` is by `provider:model`. `file`: the settings
    file, which may not exist. `state`: the folder for data of Deskmate that belongs to no workspace. `claude_folder`:
    Claude Code's own folder, if known. `widest_mode`: the widest mode that the project allows. `warnings`: what the
    user should be told. `colour`: whether to use colours. `addresses`, `key_places`: where the address and the key of a
    provider were set, by provider, as far as that is known.
    """

    file: Path
    state: Path
    claude_folder: Path | None = None
    widest_mode: Mode | None = None
    warnings: tuple[Problem, ...] = ()
    colour: bool = True
    addresses: dict[str, str] = Field({})
    key_places: dict[str, str] = Field({})

    @property
    def prices(self) -> dict[str, tuple[float, float, float, float]]:
        """The user's own prices: dollars for a million tokens of input, output, cache reads and cache writes."""
        return {
            model: (of.prices.input, of.prices.output, of.prices.cache_read, of.prices.cache_write)
            for model, of in self.models.items()
            if of.prices is not None
        }

    @property
    def described_providers(self) -> dict[str, Provider]:
        """The providers by name, as far as the user says something about them."""
        own = {name: getattr(self, name) for name in OWN_TABLES}
        return {name: one for name, one in {**own, **self.providers}.items() if one != Provider()}

    @property
    def own_servers(self) -> frozenset[str]:
        """The providers whose address the user set."""
        return frozenset(name for name, provider in self.described_providers.items() if provider.base_url)

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """The user's own rules."""
        texts = [(effect, text) for effect in Effect for text in getattr(self.permission, effect)]
        return tuple(PermissionRule.parse(effect, _at_home(one)) for effect, text in texts for one in translate(text))

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

    def mode_over(self, own: Mode, *members: Mode) -> Mode | None:
        """Return the mode to give a team with mode `own` and member modes `members`, None to change nothing.

        That is the mode in the settings, or `own` if some mode is too wide here. The result is never too wide.
        """
        widest = self.widest_mode
        if widest is None:
            return self.permission_mode
        if self.permission_mode is None and not any(mode.wider_than(widest) for mode in (own, *members)):
            return None
        wanted = self.permission_mode or own
        return widest if wanted.wider_than(widest) else wanted

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """The folders of the user's own skills, the best first. They may not exist."""
        return self._own_folders("skills")

    @property
    def agent_folders(self) -> tuple[Path, ...]:
        """The folders of the user's own agent files, the best first. They may not exist."""
        return self._own_folders("agents")

    @property
    def command_folders(self) -> tuple[Path, ...]:
        """The folders of the user's own commands, the best first. They may not exist."""
        return self._own_folders("commands")

    def _own_folders(self, name: str) -> tuple[Path, ...]:
        claude = () if self.claude_folder is None else (self.claude_folder / name,)
        return (self.file.parent / name, *claude)

    def origin_of(self, model: str) -> tuple[str, str, str]:
        """Return where the address and the key of a model were set, empty if not, and a model of its provider."""
        provider = model.partition(":")[0]
        access = self.provider_of(model)
        usual = f"the preset of {provider}" if provider not in self.own_servers else "the settings"
        address = self.addresses.get(provider, usual) if access.is_own else ""
        return address, self.key_places.get(provider, ""), DEFAULT_MODELS.get(provider, "")

    def provider_of(self, model: str) -> ProviderAccess:
        """Return how the provider of a `provider:model` is reached."""
        name = model.partition(":")[0]
        return access_of(name, self.described_providers.get(name, Provider()))


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings, which may not exist."""
    return _own_folder(environ, "XDG_CONFIG_HOME", ".config")


def claude_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Claude Code's own settings, which may not exist."""
    chosen = Path(environ.get("CLAUDE_CONFIG_DIR", ""))
    return chosen if chosen.is_absolute() else Path(environ.get("HOME") or "/") / ".claude"


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Deskmate's own data, which may not exist."""
    return _own_folder(environ, "XDG_STATE_HOME", ".local/state")


def _own_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    home = Path(environ.get("HOME") or "/")
    chosen = Path(environ.get(variable, ""))
    return (chosen if chosen.is_absolute() else home / usual) / "deskmate"
