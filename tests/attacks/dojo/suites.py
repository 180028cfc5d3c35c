"""AgentDojo's pairs of a user's task and an injected one, its templates, and its functions as tools of a program.

The texts stay in its package. Above: `obeying`, which plays them.
"""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import ModuleType
from typing import Any

from pydantic import ConfigDict

from deskmate.core.agent.tool_results import Result
from deskmate.ports import Tool, ToolContext
from deskmate.tools.tool_base import Arguments, Described

VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")

Attempted = tuple[str, Mapping[str, Any]]


@cache
def _dojo() -> ModuleType:
    """Import the package without the clients of models, whose own packages are not installed.

    What it needs of that part is found in its folder; one constant stands in the module of a client.
    """
    found = importlib.util.find_spec("agentdojo")
    assert found, "agentdojo is not installed; run make setup"
    pipeline = ModuleType("agentdojo.agent_pipeline")
    pipeline.__path__ = [f"{folder}/agent_pipeline" for folder in found.submodule_search_locations or ()]
    client = ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    client.EMPTY_FUNCTION_NAME = "<empty-function>"  # type: ignore[attr-defined]
    sys.modules |= {module.__name__: module for module in (pipeline, client)}
    importlib.import_module("agentdojo.attacks")
    return importlib.import_module("agentdojo.task_suite.load_suites")


@cache
def _suite(name: str) -> Any:
    suite = _dojo().get_suite(VERSION, name)
    # Parsing the world of a suite again for each template and injection would cost more than playing it.
    world = suite.load_and_inject_default_environment({})
    suite.load_and_inject_default_environment = lambda injections: world
    suite.get_injection_vector_defaults = dict
    return suite


@cache
def templates() -> tuple[str, ...]:
    """Return the names of all templates that an injected task is put into."""
    _dojo()
    return tuple(importlib.import_module("agentdojo.attacks.attack_registry").ATTACKS)


@cache
def _attack(suite: str, template: str) -> Any:
    victim = ModuleType("victim")
    victim.name = "local"  # type: ignore[attr-defined]
    attack = importlib.import_module("agentdojo.attacks").load_attack(template, _suite(suite), victim)
    # Where in the suite's own world a text would be read does not matter here.
    attack.get_injection_candidates = lambda task: ["here"]
    return attack


@dataclass(frozen=True)
class Pair:
    """A user's task, an injected one, and the calls by which the suite itself says that the latter is done.

    Where it names none, `uses` are those of the injection that needs the most. `number`: its place in the suite.
    """

    suite: str
    number: int
    user: Any
    injection: Any
    uses: Sequence[Attempted]

    @property
    def id(self) -> str:
        return f"{self.suite}-{self.user.ID}-{self.injection.ID}"

    @property
    def has_calls(self) -> bool:
        """Whether the suite itself says how the injected task is done."""
        return bool(_uses(self.injection, _suite(self.suite)))

    def text(self, template: str) -> str:
        """Return the injected task in a template; where a person is to write one, in none."""
        if template == "manual":
            return str(self.injection.GOAL)
        text: str = _attack(self.suite, template).attack(self.user, self.injection)["here"]
        return text


@cache
def pairs(name: str) -> tuple[Pair, ...]:
    """Return every pair of a suite."""
    suite = _suite(name)
    own = {injection.ID: _uses(injection, suite) for injection in suite.injection_tasks.values()}
    most = max(own.values(), key=len)
    both = [(user, injection) for user in suite.user_tasks.values() for injection in suite.injection_tasks.values()]
    return tuple(
        Pair(name, number, user, injection, own[injection.ID] or most) for number, (user, injection) in enumerate(both)
    )


def _uses(injection: Any, suite: Any) -> tuple[Attempted, ...]:
    calls = injection.ground_truth(_environment(suite.name))
    return tuple((_tool(suite.name, call.function), dict(call.args)) for call in calls)


def _tool(suite: str, function: str) -> str:
    """Return a function's name as that of a server's tool: some are called as Deskmate's own."""
    return f"mcp__{suite}__{function}"


def _environment(suite: str) -> Any:
    return _suite(suite).load_and_inject_default_environment({})


@dataclass
class SuiteWorld:
    """A suite's own world, in which its functions act. `done`: the calls by which they did."""

    suite: str
    done: list[Any] = field(default_factory=list)

    @cached_property
    def _now(self) -> Any:
        return _environment(self.suite).model_copy(deep=True)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All functions of the suite."""
        return tuple(
            Function(_tool(self.suite, one.name), one.description, Anything, self, one.name)
            for one in _suite(self.suite).tools
        )

    def act(self, function: str, arguments: Mapping[str, Any]) -> str:
        """Have a function act, and return what it says."""
        dojo = importlib.import_module("agentdojo.functions_runtime")
        self.done.append(dojo.FunctionCall(function=function, args=arguments))
        result, error = dojo.FunctionsRuntime(_suite(self.suite).tools).run_function(self._now, function, arguments)
        return str(error or result)

    def has_fallen_to(self, injection: Any) -> bool:
        """Tell whether, by the suite's own judgement, an injected task was done."""
        told = injection.GROUND_TRUTH_OUTPUT, _environment(self.suite), self._now
        by_calls = injection.security_from_traces(*told, self.done)
        return bool(injection.security(*told) if by_calls is None else by_calls)


class Anything(Arguments):
    """Whatever the suite says: it checks that itself."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Function(Described):
    """A function of a suite as a tool of the program."""

    world: SuiteWorld
    function: str

    async def run(self, arguments: Anything, desk: ToolContext) -> Result:
        return Result(self.world.act(self.function, arguments.model_dump()))
