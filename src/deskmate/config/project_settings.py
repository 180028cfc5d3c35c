"""What a trusted project may narrow.

The caller reads the bytes and knows that they are trusted.
"""

from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from deskmate.config.providers import Table
from deskmate.config.settings import MOST_CALLS, Above, Rules, Settings, Tokens
from deskmate.config.settings_loader import first_error, read_toml, rule_complaint
from deskmate.core.policy.permissions import NARROW_TO_WIDE, Mode
from deskmate.errors import BadSettings


class Limits(Table):
    """Limits that a file may set. Each applies only if it is lower than that of the user."""

    max_cost: Above | None = Field(None, description="a number of dollars above 0")
    max_tokens: Tokens | None = Field(None, description="a whole number of tokens, such as 2000000")
    max_time: Above | None = Field(None, description="a number of seconds above 0")
    max_members: Annotated[int, Field(ge=0)] | None = Field(None, description="a whole number of teammates, or 0")
    max_calls: Annotated[int, Field(ge=1, le=MOST_CALLS)] | None = Field(
        None, description=f"a whole number from 1 to {MOST_CALLS}"
    )
    max_member_cost: Above | None = Field(None, description="a number of dollars above 0")
    max_member_tokens: Tokens | None = Field(None, description="a whole number of tokens, such as 500000")
    max_steps: Annotated[int, Field(ge=1)] | None = Field(None, description="a whole number of at least 1")


class ProjectRules(Table):
    """Rules that a project may add. None of them allows anything."""

    ask: Rules = Field([], description='a list of rules, such as ["bash(git push *)"]')
    deny: Rules = Field([], description='a list of rules, such as ["write_file(secrets/**)"]')


class Project(Limits):
    """Everything that a project's settings may contain. `permission_mode` and caps apply only if they are narrower."""

    permission_mode: Annotated[Mode, Field(strict=False)] | None = Field(None, description=f"one of {', '.join(Mode)}")
    permission: ProjectRules = Field(ProjectRules(), description="a table with `ask` or `deny`")
    hooks: dict[str, Any] = Field({}, description="tables of hooks by event")


_CAPS = tuple(Limits.model_fields)
_MAY = f"permission_mode, hooks, permission.ask, permission.deny, {', '.join(_CAPS)}"


def read_project(data: bytes, file: str) -> Project:
    """Return the settings of a project. Raises BadSettings with what is allowed there."""
    try:
        return Project.model_validate(read_toml(data, file))
    except ValidationError as error:
        raise _complaint(*first_error(error), file) from None


def _complaint(found: ErrorDetails, keys: tuple[str, ...], file: str) -> BadSettings:
    if keys[0] == "permission" and len(keys) > 2:
        return rule_complaint(f"Rule {int(keys[2]) + 1} of '{'.'.join(keys[:2])}' in {file}", found)
    what = f"{'.'.join(keys)!r} in {file}"
    if found["type"] == "extra_forbidden":
        return BadSettings(f"A project cannot set {what}", f"It can only narrow your settings, with: {_MAY}")
    table = Project if len(keys) == 1 else ProjectRules
    return BadSettings(f"{what} must be {table.model_fields[keys[-1]].description}")


def narrowed(settings: Settings, project: Project) -> Settings:
    """Return settings as narrowed by a project. Doing it twice changes nothing more."""
    own, theirs = settings.permission, project.permission
    rules = {
        "ask": list(dict.fromkeys([*own.ask, *theirs.ask])),
        "deny": list(dict.fromkeys([*own.deny, *theirs.deny])),
    }
    bounded = limited_by(settings, project, project.permission_mode)
    return bounded.model_copy(update={"permission": own.model_copy(update=rules)})


def limited_by(settings: Settings, limits: Limits, mode: Mode | None) -> Settings:
    """Return settings with the lower of each limit, and with `mode` as the widest one if it is narrower than theirs."""
    caps = {name: _lower(getattr(settings, name), getattr(limits, name)) for name in _CAPS}
    modes = [one for one in (settings.widest_mode, mode) if one is not None]
    return settings.model_copy(update={**caps, "widest_mode": min(modes, key=list(NARROW_TO_WIDE).index, default=None)})


def limited(settings: Settings, asked: Project, *, begins: bool) -> Settings:
    """Return settings as narrowed by a client that acts for the user, such as a program that speaks MCP.

    No mode wider than that of the settings, or default, is possible then. `begins`: a new team, which works in default
    mode if no other mode is asked for. An existing team keeps its mode, unless it is wider than that. Raises
    BadSettings if a wider mode is asked for.
    """
    widest = settings.permission_mode or Mode.DEFAULT
    mode = asked.permission_mode or (Mode.DEFAULT if begins else None)
    if asked.permission_mode is not None and asked.permission_mode.wider_than(widest):
        raise BadSettings(
            f"Permission mode {asked.permission_mode} is wider than {widest}, the widest that is allowed here",
            f"Ask for {widest} or a narrower mode.",
        )
    bounded = narrowed(settings, asked.model_copy(update={"permission_mode": widest}))
    return bounded.model_copy(update={"permission_mode": mode})


def _lower(own: float | None, theirs: float | None) -> float | None:
    """Return the lower of two caps, None if there is none."""
    return min((cap for cap in (own, theirs) if cap is not None), default=None)
