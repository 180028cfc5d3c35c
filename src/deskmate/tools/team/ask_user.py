"""AskUser: let the user choose."""

from collections.abc import Iterable

from pydantic import Field, field_validator

from deskmate.core.agent.tool_results import Result
from deskmate.core.user_questions import MOST_ASKED, UserQuestion, check_questions
from deskmate.errors import BadInput
from deskmate.ports import Tool, ToolContext
from deskmate.texts import text
from deskmate.tools.tool_base import Arguments, Described

_NOBODY = (
    "Nobody is there to answer in this run. Decide yourself: take the option that is easiest to change later, and say "
    "in your answer what you decided and why."
)


class QuestionArguments(Arguments):
    """What to ask."""

    questions: tuple[UserQuestion, ...] = Field(min_length=1, max_length=MOST_ASKED)

    @field_validator("questions")
    @classmethod
    def _can_be_told_apart(cls, questions: tuple[UserQuestion, ...]) -> tuple[UserQuestion, ...]:
        try:
            check_questions(questions)
        except BadInput as error:
            raise ValueError(str(error)) from error
        return questions


class AskUser(Described):
    """Asks the user. If somebody is there, the runtime asks before the call runs, as it does for a permission."""

    async def run(self, arguments: QuestionArguments, context: ToolContext) -> Result:
        """Return the answer of the user, or that nobody is there."""
        return Result(context.memory.calls[context.call].answer or _NOBODY)


def tools() -> Iterable[Tool]:
    """Return the tool of this family."""
    return [AskUser("AskUser", text("tools/AskUser"), QuestionArguments)]
