"""Deskmate: an open runtime for teams of coding agents.

    from deskmate import Team, tool

    @tool
    def lookup(order_id: str) -> str:
        '''Return the status of an order.'''
        return ORDERS[order_id]

    team = Team("support", model="anthropic:claude-sonnet-5-5", tools=[lookup])
    outcome = team.run_sync("Which of yesterday's orders are late, and why?")
    print(outcome.text, outcome.cost)

These are the public names. Each is imported when it is first used, so `import deskmate` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.app.run_request import Teammate
    from deskmate.app.session import Session
    from deskmate.app.session_events import (
        Event,
        MailArrived,
        QuestionAsked,
        StatusChanged,
        TaskUpdated,
        TeammateJoined,
        TextFinished,
        TextStreamed,
        ThinkingStreamed,
        ToolCalled,
        ToolReturned,
        TurnEnded,
    )
    from deskmate.app.sessions.run_outcome import Outcome
    from deskmate.app.user_answers import Answer
    from deskmate.config.settings import Settings
    from deskmate.config.settings_loader import load_settings
    from deskmate.core.agent.tool_results import Result
    from deskmate.core.policy.permissions import Mode
    from deskmate.core.prompt.prompts import (
        CallBlock,
        CallDelta,
        Delta,
        Prompt,
        Reply,
        TextBlock,
        TextDelta,
        ThinkingDelta,
        Told,
        Usage,
    )
    from deskmate.core.team.open_questions import Question
    from deskmate.core.team.task_fields import NewTask
    from deskmate.errors import (
        BadInput,
        BadSettings,
        DeskmateError,
        ModelError,
        ModelRejected,
        ModelTrouble,
        NoResult,
        Refused,
        RunStopped,
        StoreError,
        ToolError,
    )
    from deskmate.library.function_tool import tool
    from deskmate.library.team import Team, run, run_sync
    from deskmate.ports import Model, ModelLimits, Store, Tool, ToolContext
    from deskmate.stores.jsonl_store import JsonlStore
    from deskmate.stores.memory_store import MemoryStore

    __version__: str

__all__ = [
    "Answer",
    "BadInput",
    "BadSettings",
    "CallBlock",
    "CallDelta",
    "Delta",
    "DeskmateError",
    "Event",
    "JsonlStore",
    "MailArrived",
    "MemoryStore",
    "Mode",
    "Model",
    "ModelError",
    "ModelLimits",
    "ModelRejected",
    "ModelTrouble",
    "NewTask",
    "NoResult",
    "Outcome",
    "Prompt",
    "Question",
    "QuestionAsked",
    "Refused",
    "Reply",
    "Result",
    "RunStopped",
    "Session",
    "Settings",
    "StatusChanged",
    "Store",
    "StoreError",
    "TaskUpdated",
    "Team",
    "Teammate",
    "TeammateJoined",
    "TextBlock",
    "TextDelta",
    "TextFinished",
    "TextStreamed",
    "ThinkingDelta",
    "ThinkingStreamed",
    "Told",
    "Tool",
    "ToolCalled",
    "ToolContext",
    "ToolError",
    "ToolReturned",
    "TurnEnded",
    "Usage",
    "load_settings",
    "run",
    "run_sync",
    "tool",
]

_WHERE = {
    "Answer": "app.user_answers",
    "BadInput": "errors",
    "BadSettings": "errors",
    "CallBlock": "core.prompt.prompts",
    "CallDelta": "core.prompt.prompts",
    "Delta": "core.prompt.prompts",
    "DeskmateError": "errors",
    "Event": "app.session_events",
    "JsonlStore": "stores.jsonl_store",
    "MailArrived": "app.session_events",
    "MemoryStore": "stores.memory_store",
    "Mode": "core.policy.permissions",
    "Model": "ports",
    "ModelError": "errors",
    "ModelLimits": "ports",
    "ModelRejected": "errors",
    "ModelTrouble": "errors",
    "NewTask": "core.team.task_fields",
    "NoResult": "errors",
    "Outcome": "app.sessions.run_outcome",
    "Prompt": "core.prompt.prompts",
    "Question": "core.team.open_questions",
    "QuestionAsked": "app.session_events",
    "Refused": "errors",
    "Reply": "core.prompt.prompts",
    "Result": "core.agent.tool_results",
    "RunStopped": "errors",
    "Session": "app.session",
    "Settings": "config.settings",
    "StatusChanged": "app.session_events",
    "Store": "ports",
    "StoreError": "errors",
    "TaskUpdated": "app.session_events",
    "Team": "library.team",
    "Teammate": "app.run_request",
    "TeammateJoined": "app.session_events",
    "TextBlock": "core.prompt.prompts",
    "TextDelta": "core.prompt.prompts",
    "TextFinished": "app.session_events",
    "TextStreamed": "app.session_events",
    "ThinkingDelta": "core.prompt.prompts",
    "ThinkingStreamed": "app.session_events",
    "Told": "core.prompt.prompts",
    "Tool": "ports",
    "ToolCalled": "app.session_events",
    "ToolContext": "ports",
    "ToolError": "errors",
    "ToolReturned": "app.session_events",
    "TurnEnded": "app.session_events",
    "Usage": "core.prompt.prompts",
    "load_settings": "config.settings_loader",
    "run": "library.team",
    "run_sync": "library.team",
    "tool": "library.function_tool",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("deskmate")
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate' has no public name '{name}'")
    return getattr(import_module(f"deskmate.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
