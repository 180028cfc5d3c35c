"""ScriptedModel: says what a script tells it, and checks what it was told.

`models.scripted` plays the script and `knowledge` checks. A prompt without `Prompt.origin` is not checked.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.models import scripted
from deskmate.testing.knowledge.knowledge_checks import FOUND, Uninformed, violations
from deskmate.testing.knowledge.truth import truth_of


class ScriptedModel(scripted.RehearsedModel):
    """A model that follows a script. It raises Uninformed if a prompt breaks one of the promises K1 to K8.

    An agent parks if its model raises, so the findings are also kept in `knowledge_checks.FOUND` for a fixture.
    `check=False`: for a benchmark, or for a test that leaves something out on purpose.
    """

    def __init__(self, script: scripted.Script, *, check: bool = True, **options: Any) -> None:
        super().__init__(script, **options)
        self._check = check

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Check the prompt, then answer with the next step."""
        if self._check and prompt.origin and (found := violations(prompt, await truth_of(prompt, prompt.origin))):
            FOUND.extend(found)
            raise Uninformed("\n".join(found))
        async with aclosing(super().stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece
