"""From what was typed to a request, and what is said on leaving."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate import app
from deskmate.app import Feed, RunRequest
from deskmate.core.goals import GoalRound
from deskmate.core.log.names import LEAD
from deskmate.core.team.status import Parked
from deskmate.errors import BadInput, BadSettings, Problem, Refused
from deskmate.faces.common.command_start import at_terminal
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, warn
from deskmate.faces.common.trust_prompt import consent_of
from deskmate.queries.stream_reader import team_at, workspace_at

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from deskmate.app.sessions.team_session import TeamSession

NOTHING_SAID = "You sent no message, so the team was not kept."
NEVER_ANSWERED = "The model never answered, so the team was not kept. Fix the problem, then try again."


def request_of(
    workspace: Path | None, words: str | None, team: str | None, flags: Mapping[str, object], *, continues: bool
) -> RunRequest:
    """Return what was typed as a request. Flags override all other settings. Raises BadSettings."""
    given = {name: value for name, value in flags.items() if value is not None}
    team_file, until, more = str(given.pop("team_file", "")), _goal(given), _more(given)
    added, files = str(given.pop("append_system_prompt", "")), _files(given)
    settings = app.load(app.environment(), given)
    settings = app.extended(settings, more) if more else settings
    if "network" in more:
        from deskmate.app.parts.given_files import check_hosts

        check_hosts(more["network"])
    request = RunRequest(workspace, words, team, settings, continues, team_file=team_file, until=until, added=added)
    return _with_given(request, files) if files else request


def _files(given: dict[str, object]) -> dict[str, str]:
    """Take what is given in files, or as JSON, out of the flags."""
    found = {name: given.pop(name, None) for name in ("json_schema", "agents", "mcp_config")}
    return {name: str(value) for name, value in found.items() if value}


def _with_given(request: RunRequest, files: Mapping[str, str]) -> RunRequest:
    """Return the request with what is in these files. Raises BadInput that says what is wrong with one."""
    from deskmate.app.parts import given_files

    if "mcp_config" in files:
        request = replace(request, settings=given_files.with_servers(request.settings, files["mcp_config"]))
    if "agents" in files:
        types = given_files.agents_of(files["agents"])
        flaws = [Problem(f"{one.file}: {flaw}") for one in types.values() for flaw in one.flaws]
        warned = request.settings.model_copy(update={"warnings": (*request.settings.warnings, *flaws)})
        request = replace(request, types=types, settings=warned)
    if "json_schema" in files:
        result = given_files.result_of(files["json_schema"])
        request = replace(request, lead_tools=(result,), result=result)
    return request


def _more(given: dict[str, object]) -> dict[str, tuple[str, ...]]:
    """Take what adds to the lists of the settings out of the flags, by option."""
    found = {name: given.pop(name.replace("-", "_"), ()) for name in ("allow", "deny", "network", "add-dir")}
    return {name: items for name, items in found.items() if isinstance(items, tuple) and items}


def _goal(given: dict[str, object]) -> GoalRound | None:
    """Take the goal out of the flags. Raises BadInput if there are two."""
    command, condition = given.pop("until", None), given.pop("until_judge", None)
    if command and condition:
        raise BadInput("A run has one goal", "Choose one of --until and --until-judge.")
    return GoalRound(until=str(command or condition), judge=not command) if command or condition else None


def agreed(request: RunRequest, *, trusts: bool) -> RunRequest | None:
    """Return the request of a conversation with the person's consent, or None if the person leaves.

    `trusts`: trust everything in the folder, for this run only. Raises BadSettings if no model can be used.
    """
    model_of(request)
    request = _with_images(request)
    here = at_terminal()
    consent = consent_of(request.workspace, request.settings, note, trusts=trusts, asks=here)
    if consent is None:
        return None
    return _with_files(replace(request.with_consent(consent), watched=here))


def next_request(request: RunRequest, words: str) -> RunRequest:
    """Return the request for a new team after the one of a request, with first words, if any."""
    plain = replace(request, team_file="", described=None, teammates=(), tasks=(), numbered=False)
    following = replace(plain, goal=words or None, typed="", team=None, continues=False)
    return _with_files(_with_images(following))


def _with_files(request: RunRequest) -> RunRequest:
    """Return the request with the prompt and the team that its words and its option name."""
    if not request.team_file and not (request.goal or "").startswith("/"):
        return request
    # Imported here because loading it would slow down every start.
    from deskmate.faces.common.commands.first_line import with_team, with_typed_command

    return with_team(with_typed_command(request))


def _with_images(request: RunRequest) -> RunRequest:
    """Return the request of a conversation with the images that its first words name. Raises Refused."""
    # Without words, nothing of the folder is read: the person has not consented to that yet.
    if not request.goal:
        return request
    from deskmate.faces.common.mentions.image_paths import images_in

    return replace(request, images=images_in(request.goal, workspace_at(request.workspace)))


def picked_request(request: RunRequest, team: str | None, *, attaches: bool) -> tuple[RunRequest, bool]:
    """Let the person choose the team that follows. Return the request for it, and whether to attach to it.

    `team`: the one before, if it is kept. It follows again if the person chooses none.
    """
    # Imported here because it is slow, and few conversations need it.
    from deskmate.faces.common.chat.session_picker import pick_team

    try:
        chosen = pick_team(request.workspace)
    except Refused as error:
        warn(str(error))
        chosen = None
    request = replace(request, team_file="", described=None, teammates=(), tasks=(), numbered=False)
    if chosen is not None:
        return replace(request, goal=None, typed="", images=(), team=chosen.name, continues=True), bool(chosen.live)
    if team is None:
        return next_request(request, ""), False
    return replace(request, goal=None, typed="", images=(), team=team, continues=True), attaches


def model_of(request: RunRequest) -> str:
    """Return the model to ask. Raises BadSettings if there is none, or Refused if the team to continue is missing."""
    try:
        return app.choose_model(request.settings)
    except BadSettings:
        if request.continues:
            # Without a team, a model would not help: say that first.
            team_at(workspace_at(request.workspace), request.team)
        raise


def typed(request: RunRequest, *words: str) -> str:
    """Return a command in the workspace of a request."""
    where = [] if request.workspace is None else ["-C", str(request.workspace)]
    return shlex.join(["deskmate", *where, *words])


def open_session(request: RunRequest, feed: Feed, *, attaches: bool) -> "AbstractAsyncContextManager[TeamSession]":
    """Open the team of a request and run it. `attaches`: look at it while another process runs it."""
    if attaches:
        from deskmate.app.attach.attached_session import attached

        return attached(request.workspace, request.team, request.settings, feed)
    from deskmate.app.session import attended

    return attended(request, feed)


def attached_note(session: "TeamSession") -> str:
    """Return what to say first in a window that is attached to a team of another process."""
    return f"Team {session.team} runs in another process. It continues when you leave this window."


def stop_reason(session: "TeamSession") -> str:
    """Return why the lead stopped, as a line, or "" if it did not."""
    lead = next((member for member in session.members if member.name == LEAD), None)
    return f"deskmate: stopped: {one_line(lead.status.reason)}" if lead and isinstance(lead.status, Parked) else ""


def parting(request: RunRequest, session: "TeamSession", *, attaches: bool = False, reason: str = "") -> str:
    """Return what to print on leaving: cost, open tasks, who was busy, and how to answer, to merge and to continue.

    `reason`: why the lead stopped, if that was not printed yet. With the setting `merge = "auto"`, the branch of the
    team is merged here.
    """
    # Imported here, because a run needs none of it before its first request.
    from deskmate.faces.common.handover.tree_reports import end_lines
    from deskmate.faces.common.items.member_items import sender_of
    from deskmate.faces.common.listings import dollars, open_line

    if attaches:
        way_back = typed(request, "attach", session.team)
        return f"Team {session.team} continues without this window. To open it again, run: {way_back}"
    if not session.kept:
        return "\n".join(filter(None, [reason, NEVER_ANSWERED])) if session.letters else NOTHING_SAID
    team, spent, left = session.home, session.spent, open_line(session.board.current)
    asking = {sender_of(question.member) for question in session.questions}
    busy = [name for name in session.busy if name not in asking]
    stopped = f"{', '.join(busy)} {'was' if len(busy) == 1 else 'were'} stopped while busy.\n" if busy else ""
    title = one_line(session.title)
    sum_ = f"team {team}: {spent.calls:,} model call{'' if spent.calls == 1 else 's'}, {dollars(spent)}"
    sum_ = f"{sum_} ({title})" if title else sum_
    sum_ = f"{sum_}\n{left}" if left else sum_
    way_on, without = typed(request, "--team", team), typed(request, "resume", team)
    answer = f"To answer, run: {typed(request, 'answer', '--team', session.team)}\n" if asking else ""
    merges = end_lines(request.workspace, team, request.settings.merge, partial(typed, request, "merge"))
    work = "".join(f"{line}\n" for line in merges)
    return f"{sum_}\n{work}{stopped}{answer}To continue, run: {way_on}\nTo let it work without you, run: {without}"
