"""What the models of a team are really given: the prompts of agents that begin, taken from a team that runs."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from deskmate.app.build import TeamParts
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.prompt.system_prompt import Environment
from deskmate.core.team.roster_records import Joined
from deskmate.models.scripted import Step
from deskmate.runtime.agent import Agent
from deskmate.runtime.task_groups import task_group
from tests.runtime.agent_harness import AgentHarness, uses
from tests.runtime.team_process import until

WHERE = Environment(
    workspace="/home/ann/projects/library",
    platform="Linux x86_64",
    shell="bash",
    date="2026-11-16",
    branch="main",
    sandbox="bubblewrap",
    network=("pypi.org", "files.pythonhosted.org"),
)
OWN_TREE = WHERE.model_copy(
    update={"workspace": "/home/ann/.cache/deskmate/trees/library/main/alice", "merges_into": "deskmate/main"}
)


class Library(AgentHarness):
    """A team that works in a place that is the same on every machine."""

    @property
    def team_parts(self) -> TeamParts:
        return replace(super().team_parts, environment=WHERE, team="main")

    @classmethod
    async def begun(
        cls,
        *script: Step,
        mode: Mode = Mode.DEFAULT,
        delegate: bool = False,
        profiles: Mapping[str, AgentProfile] | None = None,
    ) -> "Library":
        said = list(script) or ["Done.", "Done.", "Done."]
        harness = await cls.opened(said, mode=mode, attended=True, profiles=profiles)
        await harness.permit(delegate=delegate)
        return harness


def _lead(**more: Any) -> Callable[[], Awaitable[Prompt]]:
    async def first() -> Prompt:
        harness = await Library.begun(**more)
        await harness.turn("Move the service from REST to GraphQL.")
        return harness.scripted.prompts[0]

    return first


def _teammate(*, where: Environment = WHERE, **more: Any) -> Callable[[], Awaitable[Prompt]]:
    async def first() -> Prompt:
        harness = await Library.begun()
        roster = harness.team_state.roster
        await roster.join(Joined(name="bob", role="tests", prompt="Test it.", at=0.0))
        await roster.join(Joined(name="alice", role="backend", prompt="Own the service.", at=0.0, **more))
        team_parts = replace(harness.team_parts, environment=where)
        parts, started = team_parts.teammate(roster.state.members["alice"])
        agent = await Agent.seat(harness.team_state, started, replace(parts, workspace=harness.workspace))
        async with task_group() as tasks:
            tasks.start_soon(agent.play)
            await until(lambda: bool(harness.scripted.prompts))
            tasks.cancel_scope.cancel()
        return harness.scripted.prompts[0]

    return first


def _subagent(agent_type: AgentType) -> Callable[[], Awaitable[Prompt]]:
    async def first() -> Prompt:
        sent = uses("Task", prompt="Find every endpoint.", subagent_type=agent_type)
        harness = await Library.begun(sent, "There are three.", "Done.")
        await harness.turn("Find every endpoint.")
        return harness.scripted.prompts[1]

    return first


FIRST: dict[str, Callable[[], Awaitable[Prompt]]] = {
    "lead": _lead(),
    "lead-delegating": _lead(delegate=True),
    "lead-custom-types": _lead(
        profiles={
            "api-builder": AgentProfile("api-builder", "Builds services"),
            "reviewer": AgentProfile("reviewer", "Reviews changes", tools=("read_file", "grep")),
        }
    ),
    "lead-planning": _lead(mode=Mode.PLAN),
    "teammate": _teammate(),
    "teammate-own-tree": _teammate(where=OWN_TREE),
    "teammate-explore": _teammate(agent_type=AgentType.EXPLORE),
    "teammate-custom": _teammate(
        custom_type="api-builder", instructions="Build small services.\n\nTest each.", tools=("bash", "read_file")
    ),
    "teammate-planning": _teammate(plan=True),
    "subagent": _subagent(AgentType.GENERAL),
    "subagent-explore": _subagent(AgentType.EXPLORE),
}


def lines(prompt: Prompt) -> Iterator[str]:
    """Yield a prompt as a person reads it: the system prompt, what is told, then each tool with its arguments."""
    yield prompt.system
    for passage in prompt.passages:
        yield "\n-- told"
        yield from (block.text for block in passage.blocks)
    for tool in prompt.tools:
        yield f"\n-- tool {tool.name}\n{tool.text}"
        needed = tool.schema.get("required", ())
        for name, argument in tool.schema["properties"].items():
            yield f"   {name}{'*' if name in needed else ''}: {_described(argument)}"


def _described(argument: dict[str, object]) -> str:
    enum = argument.get("enum")
    kind = " | ".join(map(str, enum)) if isinstance(enum, list) else str(argument.get("type", "any"))
    default = f" = {argument['default']}" if "default" in argument else ""
    said = f" -- {argument['description']}" if "description" in argument else ""
    return f"{kind}{default}{said}"
