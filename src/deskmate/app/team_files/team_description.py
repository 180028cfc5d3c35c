"""From the text of a team file to what a request asks for: teammates, tasks, limits and first words.

The whole file is checked before anything is created. Errors name the table and the field, because TOML keeps no lines.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, ValidationError

from deskmate.app.run_request import Teammate
from deskmate.config.project_settings import Limits, limited_by
from deskmate.config.providers import Table
from deskmate.config.settings import Settings
from deskmate.config.settings_loader import first_error, read_toml
from deskmate.core.log.names import LEAD, new_name, same_name
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.task_fields import NewTask
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName

MOST_MEMBERS, MOST_TASKS = 50, 500
# In characters: a prompt and a description are parts of one record each.
_LONG = 30_000
_SHORT = 300
_MEMBERS, _TASKS, _BUDGET = "members", "tasks", "budget"


def _text(most: int, description: str, **more: Any) -> Any:
    return Field(max_length=most, description=f"{description}, at most {most:,} characters", **more)


class WrittenMember(Table):
    """A table of `members`."""

    name: str = _text(64, "a name such as alice")
    role: str = _text(_SHORT, "a text", default="")
    type: str = _text(64, "the name of an agent type", default="")
    model: Annotated[str, Field(pattern=r"^[!-~]+$")] | None = Field(None, description="a model, as in the settings")
    mode: Annotated[Mode, Field(strict=False)] | None = Field(None, description=f"one of {', '.join(Mode)}")
    isolation: Annotated[Isolation, Field(strict=False)] | None = Field(
        None, description=f"one of {', '.join(Isolation)}"
    )
    prompt: str = _text(_LONG, "a text", default="")


class WrittenTask(Table):
    """A table of `tasks`."""

    id: str = _text(64, "a name such as parser", default="")
    subject: str = _text(_SHORT, "a line", min_length=1)
    description: str = _text(_LONG, "a text", default="")
    blocked_by: list[str] = Field([], description="a list of ids of tasks")
    owner: str | None = Field(None, description="the name of a member, or lead")
    role: str | None = Field(None, description="the role of a member")
    verify: str | None = _text(2_000, "a command", default=None)


class WrittenTeam(Table):
    """Everything that a team file may contain."""

    about: str = _text(_SHORT, "a line", default="")
    words: str = _text(_LONG, "a text", default="")
    check: str = _text(2_000, "a command", default="")
    permission_mode: Annotated[Mode, Field(strict=False)] | None = Field(None, description=f"one of {', '.join(Mode)}")
    budget: Limits = Field(Limits(), description="a table with limits, such as max_cost")
    members: list[WrittenMember] = Field([], max_length=MOST_MEMBERS, description=f"at most {MOST_MEMBERS} tables")
    tasks: list[WrittenTask] = Field([], max_length=MOST_TASKS, description=f"at most {MOST_TASKS} tables")


@frozen
class TeamDescription:
    """A team as a file describes it. `words`: the first words to the lead. `check`: the command for merged work."""

    file: str
    about: str = ""
    words: str = ""
    check: str = ""
    mode: Mode | None = None
    limits: Limits = Limits()
    teammates: tuple[Teammate, ...] = ()
    tasks: tuple[NewTask, ...] = ()

    def narrowed(self, settings: Settings) -> Settings:
        """Return settings as narrowed by this team. Nothing becomes wider, whatever the file says."""
        bounded = limited_by(settings, self.limits, self.mode)
        return bounded.model_copy(update={"check": settings.check or self.check})

    def resumed(self, settings: Settings) -> Settings:
        """Return settings for a team from this file that is resumed, with the limits that they do not set themselves.

        So a limit that was reached can be raised. The team keeps the mode that it has.
        """
        usual = {name: field.default for name, field in Settings.model_fields.items()}
        own = {name for name in Limits.model_fields if getattr(settings, name) != usual[name]}
        limits = self.limits.model_copy(update=dict.fromkeys(own))
        return replace(self, limits=limits, mode=None).narrowed(settings)


def read_team_file(data: bytes, file: str) -> TeamDescription:
    """Return the team that a file describes. Raises BadInput or BadSettings with the table and the field."""
    layer = read_toml(data, file)
    try:
        written = WrittenTeam.model_validate(layer)
    except ValidationError as error:
        found, keys = first_error(error)
        raise _complaint(found["type"], keys, layer, file) from None
    if not (written.members or written.tasks or written.words):
        raise BadInput(f"{file} describes no team", "Add words, [[members]] or [[tasks]].")
    teammates = tuple(_members(written.members, file))
    return TeamDescription(
        file=file,
        about=" ".join(written.about.split()),
        words=written.words.strip(),
        check=written.check.strip(),
        mode=written.permission_mode,
        limits=written.budget,
        teammates=teammates,
        tasks=_tasks(written.tasks, teammates, file),
    )


# -- members and tasks ----------------------------------------------------------------------------


def _members(written: list[WrittenMember], file: str) -> Iterator[Teammate]:
    before: list[str] = []
    for number, one in enumerate(written, 1):
        where = _where(_MEMBERS, number, one.name)
        try:
            name = new_name(one.name)
        except BadName as error:
            raise BadInput(f"{file}: {where}: {error.message}", error.hint) from error
        if any(same_name(name, other) for other in before):
            raise BadInput(f"{file}: {where}: there are two members with this name", "Give each a different name.")
        if one.mode is Mode.PLAN and not one.prompt.strip():
            raise BadInput(f"{file}: {where}: 'mode' is plan, and there is nothing to plan", "Set 'prompt'.")
        before.append(name)
        yield Teammate(
            name,
            role=one.role or one.type,
            prompt=one.prompt.strip(),
            model=one.model,
            mode=None if one.mode is Mode.PLAN else one.mode,
            plans_first=one.mode is Mode.PLAN,
            type=one.type,
            isolation=one.isolation,
        )


def _tasks(written: list[WrittenTask], teammates: tuple[Teammate, ...], file: str) -> tuple[NewTask, ...]:
    """Return the tasks, each after those that block it."""
    ids: dict[str, int] = {}
    names, roles = {one.name for one in teammates}, {role for one in teammates for role in (one.name, one.role)}
    for number, one in enumerate(written, 1):
        where = _where(_TASKS, number, one.id or one.subject)
        if not one.subject.strip() or "\n" in one.subject:
            raise BadInput(f"{file}: {where}: 'subject' must be one line", "Put the rest into 'description'.")
        if one.id in ids:
            raise BadInput(f"{file}: {where}: task {ids[one.id]} has the same id", "Give each a different id.")
        if one.owner is not None and one.owner not in {*names, LEAD}:
            raise BadInput(
                f"{file}: {where}: 'owner' is {one.owner!r}, which is not the name of a member", _choose("name", names)
            )
        if one.role is not None and one.role not in roles:
            raise BadInput(f"{file}: {where}: no member has the role {one.role!r}", _choose("role", roles))
        if one.id:
            ids[one.id] = number
    return tuple(_in_order(written, ids, file))


def _in_order(written: list[WrittenTask], ids: Mapping[str, int], file: str) -> Iterator[NewTask]:
    made: dict[int, NewTask] = {}
    left = dict(enumerate(written, 1))
    for number, one in left.items():
        if missing := next((id_ for id_ in one.blocked_by if id_ not in ids), None):
            where = _where(_TASKS, number, one.id or one.subject)
            raise BadInput(
                f"{file}: {where}: 'blocked_by' names {missing!r}, which is not the id of a task", _choose("id", ids)
            )
    while left:
        ready = [number for number, one in left.items() if all(ids[id_] in made for id_ in one.blocked_by)]
        if not ready:
            waiting = ", ".join(one.id or one.subject for one in left.values())
            raise BadInput(f"{file}: these tasks wait for each other: {waiting[:_SHORT]}", "Remove a 'blocked_by'.")
        for number in ready:
            one = left.pop(number)
            made[number] = NewTask(
                one.subject.strip(),
                one.description.strip(),
                blocked_by=[made[ids[id_]] for id_ in one.blocked_by],
                owner=one.owner,
                role=one.role,
                verify=one.verify,
            )
            yield made[number]


def _choose(what: str, known: Any) -> str:
    return f"Use one of {', '.join(sorted(one for one in known if one))}." if any(known) else f"Nothing has a {what}."


# -- what is wrong with a value -------------------------------------------------------------------


def _complaint(kind: str, keys: tuple[str, ...], layer: Mapping[str, Any], file: str) -> BadInput:
    table, where, *rest = _placed(keys, layer)
    if not rest:
        return BadInput(f"{file}: {where} must be {WrittenTeam.model_fields[keys[0]].description}")
    key = rest[0]
    before = f"{where}: " if where else ""
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(key, table.model_fields, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"Fields here: {', '.join(table.model_fields)}"
        return BadInput(f"{file}: {before}there is no field {key[:80]!r}", hint)
    if kind == "missing":
        return BadInput(f"{file}: {before}'{key}' is missing", f"Add {table.model_fields[key].description}.")
    return BadInput(f"{file}: {before}'{key}' must be {table.model_fields[key].description}")


def _placed(keys: tuple[str, ...], layer: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the table of a field, where it is in words, and the field, if it is one of that table."""
    match keys:
        case ("members" | "tasks" as name, number, *rest):
            item = layer[name][int(number)]
            named = item.get("name") or item.get("id") or item.get("subject") if isinstance(item, dict) else ""
            place = _where(name, int(number) + 1, named if isinstance(named, str) else "")
            return (WrittenMember if name == _MEMBERS else WrittenTask), place, *rest[:1]
        case ("budget", key, *_):
            return Limits, f"[{_BUDGET}]", key
        case _:
            return WrittenTeam, "", keys[0]


def _where(table: str, number: int, name: str) -> str:
    shown = f" ({ascii(name[:40])[1:-1]})" if name else ""
    return f"[[{table}]] number {number}{shown}"
