"""The names of attributes and metrics. Those of OpenTelemetry for generative AI are written out here, ours are too.

The conventions for generative AI are still in development, and no package has them in a stable form. The reference
page of the documentation is compared with these tables.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from deskmate.core.values import frozen

SCOPE = "deskmate"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE = "gen_ai.token.type"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
ERROR_TYPE = "error.type"

TEAM = "deskmate.team.name"
HOME = "deskmate.team.home"
AGENT_KIND = "deskmate.agent.kind"
RUN_ATTENDED = "deskmate.run.attended"
TURN_END = "deskmate.turn.end"
TURN_CALLS = "deskmate.turn.model_calls"
TASKS = "deskmate.task.ids"
TASK = "deskmate.task.id"
TASK_STATUS = "deskmate.task.status"
MERGED = "deskmate.merge.merged"
COST = "deskmate.cost"
UNFINISHED = "deskmate.unfinished"
MESSAGE_TYPE = "deskmate.message.type"
MEMBER_STATUS = "deskmate.member.status"
RECORD = "deskmate.record"
MESSAGE_ID = "deskmate.message.id"

# Attribute → what it says. Those of CONTENT are exported only on request.
ATTRIBUTES: Mapping[str, str] = {
    OPERATION: "what the span is: `invoke_workflow`, `invoke_agent`, `create_agent`, `chat`, `execute_tool` or `merge`",
    PROVIDER: "the provider of the model",
    CONVERSATION: "the team, as a text that no other team has: the id of the trace",
    WORKFLOW: "the name of the team",
    AGENT_ID: "the member with its team, such as `alice@main`",
    AGENT_NAME: "the name of the member. Of a subagent: the id of the call that started it",
    REQUEST_MODEL: "the model that was asked",
    RESPONSE_MODEL: "the model that answered: the fallback model, if that was asked",
    FINISH_REASONS: "why the answer ended: `stop`, `tool_call`, `length` or `interrupted`",
    INPUT_TOKENS: "tokens of the prompt, also those from or for a cache",
    OUTPUT_TOKENS: "tokens of the answer",
    CACHE_READ_TOKENS: "tokens of the prompt that the provider read from its cache",
    CACHE_CREATION_TOKENS: "tokens of the prompt that the provider wrote to its cache",
    TOKEN_TYPE: "`input` or `output`",
    TOOL_NAME: "the tool",
    TOOL_CALL: "the id of the call, such as `alice:12.0`",
    TOOL_TYPE: "always `function`",
    ERROR_TYPE: "`tool_error`: the call failed. `not_run`: it was refused or skipped. `parked`: the turn cannot go on. "
    "`returned`: the work was not merged",
    TEAM: "the name of the team",
    HOME: "the first team of the lead, if it created this one",
    AGENT_KIND: "`lead`, `teammate` or `subagent`",
    RUN_ATTENDED: "whether a person was there",
    TURN_END: "`answered`, `interrupted`, `parked` or `left`",
    TURN_CALLS: "how many model calls the turn had, without those that were cut",
    TASKS: "the numbers of the tasks that the member took or was given in this turn",
    TASK: "the number of the task",
    MERGED: "whether the work is in the branch of the team",
    COST: "US dollars, if the price of the model is known",
    UNFINISHED: "true if the turn or the run was cut, and nobody has continued it",
    RECORD: "the record that the span is named after, such as `log/alice 12`",
}
LINK_ATTRIBUTES: Mapping[str, str] = {
    MESSAGE_ID: "the message that the span at the other end sent, and that this turn heard"
}
CONTENT: Mapping[str, str] = {
    INPUT_MESSAGES: "of a turn: the messages that it heard",
    OUTPUT_MESSAGES: "of a model call: what the model said, and the calls that it asked for",
    TOOL_ARGUMENTS: "the arguments of the call",
    TOOL_RESULT: "the result that the model reads",
}
# Those of data points only.
POINT_ATTRIBUTES: Mapping[str, str] = {
    TASK_STATUS: "`pending`, `in_progress` or `completed`",
    MESSAGE_TYPE: "the kind of the message, such as `message` or `broadcast`",
    MEMBER_STATUS: "`working`, `idle`, `waiting`, `parked` or `left`",
}

MetricKind: TypeAlias = Literal["histogram", "counter", "gauge"]


@frozen
class MetricDefinition:
    """A metric. `meaning`: what it counts. `attributes`: those of its points. `bounds`: of a histogram."""

    name: str
    unit: str
    kind: MetricKind
    meaning: str
    attributes: tuple[str, ...]
    bounds: tuple[float, ...] = ()


_BY_MODEL = (OPERATION, PROVIDER, REQUEST_MODEL, AGENT_NAME, TEAM)
TOKEN_USAGE = MetricDefinition(
    "gen_ai.client.token.usage",
    "{token}",
    "histogram",
    "tokens of each model call",
    (*_BY_MODEL, TOKEN_TYPE),
    tuple(float(4**power) for power in range(14)),
)
OPERATION_DURATION = MetricDefinition(
    "gen_ai.client.operation.duration",
    "s",
    "histogram",
    "how long each model call took, with retries",
    _BY_MODEL,
    tuple(round(0.01 * 2**power, 2) for power in range(14)),
)
MODEL_COST = MetricDefinition(
    "deskmate.model.cost", "{USD}", "counter", "what model calls cost, as far as prices are known", _BY_MODEL
)
TEAM_TASKS = MetricDefinition("deskmate.tasks", "{task}", "gauge", "tasks on the board", (TEAM, TASK_STATUS))
TEAM_MEMBERS = MetricDefinition("deskmate.members", "{member}", "gauge", "members of the team", (TEAM, MEMBER_STATUS))
TEAM_MESSAGES = MetricDefinition(
    "deskmate.messages", "{message}", "counter", "messages in the mailboxes of the team", (TEAM, MESSAGE_TYPE)
)
METRICS = (TOKEN_USAGE, OPERATION_DURATION, MODEL_COST, TEAM_TASKS, TEAM_MEMBERS, TEAM_MESSAGES)

# The names that the conventions have for providers, if they are not ours.
PROVIDER_NAMES: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
}
