"""The first request of each kind of agent, made of what the product gives it."""

from dataclasses import dataclass

from deskmate.core.briefs import Environment, brief, made_of
from deskmate.core.prompts import Prompt, TextBlock, Told
from deskmate.core.roles import Kind, tools_of
from deskmate.tools import spec, tools_for

WHERE = Environment(
    workspace="/home/ann/projects/library",
    platform="Linux x86_64",
    shell="bash",
    date="2026-11-16",
    branch="main",
    sandbox="bubblewrap",
    network=("pypi.org", "files.pythonhosted.org"),
)


@dataclass(frozen=True)
class Reader:
    """An agent as it begins."""

    kind: Kind
    agent_type: str = "general-purpose"
    planning: bool = False
    delegate: bool = False

    @property
    def prompt(self) -> Prompt:
        """What its model is given first, with a word of the user's or the lead's."""
        kind = self.kind
        names = tools_of(kind, self.agent_type, planning=self.planning, delegate=self.delegate)
        system = brief(
            made_of(
                name="lead" if kind is Kind.LEAD else "alice",
                kind=kind,
                role="" if kind is Kind.LEAD else "backend",
                team="main",
                members={} if kind is Kind.LEAD else {"lead": "", "bob": "tests"},
                tools=tools_of(kind, self.agent_type),
                environment=WHERE,
            )
        )
        tools = tuple(spec(tool) for tool in tools_for(kind, names) if tool.name != "Skill")
        return Prompt(system, (Told((TextBlock("Begin."),)),), tools)


READERS = {
    "lead": Reader(Kind.LEAD),
    "lead-delegating": Reader(Kind.LEAD, delegate=True),
    "lead-planning": Reader(Kind.LEAD, planning=True),
    "teammate": Reader(Kind.TEAMMATE),
    "teammate-explore": Reader(Kind.TEAMMATE, "Explore"),
    "teammate-planning": Reader(Kind.TEAMMATE, planning=True),
    "subagent": Reader(Kind.SUBAGENT),
    "subagent-explore": Reader(Kind.SUBAGENT, "Explore"),
}
