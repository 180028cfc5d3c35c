"""SendMessage: mail, and both sides of a handshake.

The mailbox adds the sender. Every message has the id of its call, so that a call repeated after a crash sends nothing
twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from deskmate.core.agent.entries import Answered, Opened
from deskmate.core.agent.situation import open_plans
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import IN_CHARGE, RESERVED, USER, agent_id, local_name
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import RosterState, is_planning
from deskmate.core.team.messages import Broadcast, Plain, PlanResponse, ShutdownRequest, ShutdownResponse, summarise
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Mail, Tool, ToolContext
from deskmate.texts import text_for
from deskmate.tools.tool_base import Arguments, Described

Letter: TypeAlias = Literal["message", "broadcast", "shutdown_request", "shutdown_response", "plan_approval_response"]

_NEEDS: Mapping[Letter, frozenset[str]] = {
    "message": frozenset({"recipient", "content"}),
    "broadcast": frozenset({"content"}),
    "shutdown_request": frozenset({"recipient"}),
    "shutdown_response": frozenset({"request_id", "approve"}),
    "plan_approval_response": frozenset({"recipient", "request_id", "approve"}),
}
# These are refused in other messages. If they were ignored there, a yes or no would be lost without notice.
_ONLY_IN_ANSWERS = frozenset({"request_id", "approve"})
_ONLY_BY_LEAD = frozenset({"shutdown_request", "plan_approval_response"})


class MailArguments(Arguments):
    """What to send to whom."""

    type: Letter = "message"
    recipient: str = Field("", description="name of a member")
    content: str = ""
    summary: str = Field("", description="5-10 words, shown first")
    request_id: str = ""
    approve: bool | None = None
    team_name: SkipJsonSchema[str] = ""


def _shown(*types: Letter) -> WithJsonSchema:
    """Return a schema with the types that a model may send. Other types get an error that says who may send them."""
    return WithJsonSchema({"type": "string", "enum": list(types), "default": "message"})


class LeadMailArguments(MailArguments):
    """The arguments as the lead sees them."""

    type: Annotated[Letter, _shown("message", "broadcast", "shutdown_request", "plan_approval_response")] = "message"


class TeammateMailArguments(MailArguments):
    """The arguments as a teammate sees them."""

    type: Annotated[Letter, _shown("message", "broadcast", "shutdown_response")] = "message"


class SendMessage(Described):
    """Sends mail."""

    def fix(self, arguments: MailArguments, context: ToolContext) -> tuple[str, ...]:
        """Return the recipients of a broadcast: every other agent that is on the team now."""
        if arguments.type != "broadcast":
            return ()
        return tuple(name for name, member in context.roster.members.items() if member.here and name != context.me.name)

    async def run(self, arguments: MailArguments, context: ToolContext) -> Result:
        """Send the message and return to whom it went."""
        _check(arguments, context)
        match arguments.type:
            case "message":
                return await _message(arguments, context)
            case "broadcast":
                return await _broadcast(arguments, context)
            case "shutdown_request":
                return await _ask_to_stop(arguments, context)
            case "shutdown_response":
                return await _answer_to_stop(arguments, context)
            case "plan_approval_response":
                return await _answer_plan(arguments, context)
            case unreachable:
                assert_never(unreachable)


def _check(arguments: MailArguments, context: ToolContext) -> None:
    """Raise ToolError if the message lacks a field, has one too many, or may not be sent by this agent."""
    kind = arguments.type
    if arguments.team_name and arguments.team_name != context.roster.team:
        raise ToolError(
            f"You are on team '{context.roster.team}', not on '{arguments.team_name[:80]}'. Leave team_name out."
            f"{_way_home(context)}"
        )
    if kind in _ONLY_BY_LEAD and context.me.kind is not AgentKind.LEAD:
        raise ToolError(f"Only the lead can send a {kind}. Send a message to lead instead.")
    given = _given(arguments)
    if missing := sorted(_NEEDS[kind] - given):
        raise ToolError(f"A {kind} needs {' and '.join(missing)}. Send it again with that.")
    if extra := sorted((_ONLY_IN_ANSWERS & given) - _NEEDS[kind]):
        raise ToolError(f"A {kind} has no {' and no '.join(extra)}. To answer a request, set the type of the answer.")
    if arguments.approve is False and "content" not in given:
        raise ToolError("A refusal needs content. Say why.")


def _given(arguments: MailArguments) -> frozenset[str]:
    values = ((name, getattr(arguments, name)) for name in MailArguments.model_fields)
    return frozenset(name for name, value in values if (value.strip() if isinstance(value, str) else value is not None))


def _way_home(context: ToolContext) -> str:
    team = context.home.roster.team if context.home else ""
    return f" To write to a member of team '{team}': NAME@{team}." if team else ""


async def _message(arguments: MailArguments, context: ToolContext) -> Result:
    to = _recipient(arguments, context)
    summary = summarise(arguments.content, arguments.summary)
    await to.mail.send(to.name, Plain(content=arguments.content, summary=summary), id_=context.call)
    return Result(f"sent to {to}", team=to.team)


async def _broadcast(arguments: MailArguments, context: ToolContext) -> Result:
    if not context.fixed:
        raise ToolError("Nobody else is on the team, so there is no one to broadcast to.")
    message = Broadcast(content=arguments.content, summary=summarise(arguments.content, arguments.summary))
    delivered = await context.mail.broadcast(context.fixed, message, id_=context.call)
    reached, missed = delivered.reached, delivered.missed
    sent = f"sent to {len(reached)} of {len(context.fixed)}: {', '.join(reached) or 'nobody'}"
    return Result(f"{sent}. Not reached: {', '.join(missed)}" if missed else sent, ok=bool(reached))


async def _ask_to_stop(arguments: MailArguments, context: ToolContext) -> Result:
    to = _teammate(arguments, context)
    await to.mail.send(to.name, ShutdownRequest(request_id=context.call, content=arguments.content), id_=context.call)
    opened = Opened(request_id=context.call, shake=Shake.SHUTDOWN, asked=to.name)
    asked = f"Asked {to} to leave (request {context.call})."
    return Result(f"{asked} You are notified when it has left or refuses. Do not wait.", opened=opened, team=to.team)


async def _answer_to_stop(arguments: MailArguments, context: ToolContext) -> Result:
    request_id, approve, demands = arguments.request_id, bool(arguments.approve), context.memory.demands
    if request_id not in demands:
        there_are = f"Open: {', '.join(demands)}." if demands else "None is open."
        raise ToolError(f"There is no open shutdown request '{request_id[:80]}'. {there_are}")
    if not approve and request_id in context.memory.forced:
        raise ToolError(f"Request '{request_id}' cannot be refused. Finish now, and approve it.")
    asker = demands[request_id]
    if arguments.recipient and _recipient(arguments, context).name != asker:
        raise ToolError(f"Request '{request_id}' was made by {asker}. Leave recipient out.")
    response = ShutdownResponse(request_id=request_id, approve=approve, content=arguments.content)
    await context.mail.send(asker, response, id_=context.call)
    text = (
        "You agreed: you leave the team now." if approve else f"You refused: {asker} will read why. Continue your work."
    )
    return Result(text, answered=Answered(request_id=request_id, approve=approve))


async def _answer_plan(arguments: MailArguments, context: ToolContext) -> Result:
    to, request_id, approve = _teammate(arguments, context), arguments.request_id, bool(arguments.approve)
    if is_planning(context.roster, context.me.name, owes_plan=context.memory.owes_plan):
        raise ToolError("You are in plan mode yourself: submit your own plan first. The user can answer this plan.")
    # In a call repeated after a crash, the answer may have been sent already. The mailbox knows.
    known = context.memory.in_team(to.team)
    plans = tuple(known.plans.values()) if context.again else open_plans(known, to.roster)
    if not any((plan.planner, plan.id) == (to.name, request_id) for plan in plans):
        there_are = ", ".join(f"{plan.id} from {replace(to, name=plan.planner)}" for plan in plans) or "none"
        raise ToolError(f"{str(to)[:80]} has no open plan '{request_id[:80]}'. Open: {there_are}.")
    response = PlanResponse(request_id=request_id, approve=approve, content=arguments.content)
    await to.mail.answer(to.name, response, id_=context.call)
    text = "approved" if approve else "refused. It can submit another plan."
    return Result(f"told {to}: {text}", answered=Answered(request_id=request_id, approve=approve), team=to.team)


@frozen
class _Recipient:
    """Who gets a message, and how. `team`: the lead's home, if that is where the recipient is and the lead is not."""

    name: str
    team: str | None
    roster: RosterState
    mail: Mail

    def __str__(self) -> str:
        return agent_id(self.name, self.team) if self.team else self.name


def _recipient(arguments: MailArguments, context: ToolContext) -> _Recipient:
    address, home = arguments.recipient.strip(), context.home
    team = address.partition("@")[2].lower()
    if home and team == home.roster.team:
        to = _Recipient(home.roster.spelled(address.partition("@")[0]), team, home.roster, home.mail)
    else:
        name = context.roster.spelled(local_name(address, context.roster.team))
        to = _Recipient(name, None, context.roster, context.mail)
    if to.name == context.me.name:
        raise ToolError(f"'{to.name}' is you. Write to another member.")
    if to.name in RESERVED - IN_CHARGE:
        raise ToolError(
            f"'{to.name}' is not a member. Name one member, or send a broadcast to reach every other agent."
        )
    if to.team and not to.roster.here(to.name):
        here = ", ".join(member.name for member in addressed(to.roster).teammates if member.here)
        raise ToolError(f"'{str(to)[:80]}' is not on that team. Teammates there: {here or 'none'}.")
    if home and not to.team and not to.roster.here(to.name) and home.roster.here(to.name):
        there = agent_id(home.roster.spelled(to.name), home.roster.team)
        raise ToolError(f"'{to.name}' is not on team '{to.roster.team}', but on your other team. Write to {there}.")
    return to


def _teammate(arguments: MailArguments, context: ToolContext) -> _Recipient:
    to = _recipient(arguments, context)
    if to.name == USER:
        raise ToolError(f"A {arguments.type} goes to a teammate, not to the user. Name the teammate.")
    return to


def tools(kind: AgentKind) -> Iterable[Tool]:
    """Return the tool of this family, with the types that this kind of agent may send."""
    arguments = LeadMailArguments if kind is AgentKind.LEAD else TeammateMailArguments
    return [SendMessage("SendMessage", text_for("tools/SendMessage", kind), arguments)]
