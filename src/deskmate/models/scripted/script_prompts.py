"""What a script can read in its prompt. A script depends on its conversation alone, so it continues after a kill."""

import re

from deskmate.core.prompt.prompts import Prompt, ResultBlock, TextBlock, Told

_NAME = re.compile(r"You are ([^ ,]+), ")


def name_in(prompt: Prompt) -> str | None:
    """Return the name of the member whose model is asked, or None if the system prompt names none."""
    found = _NAME.match(prompt.system)
    return found[1] if found else None


def texts_in(prompt: Prompt) -> list[str]:
    """Return every text this model was told, without the results of its calls."""
    passages = [passage for passage in prompt.passages if isinstance(passage, Told)]
    return [block.text for passage in passages for block in passage.blocks if isinstance(block, TextBlock)]


def all_succeeded(told: Told) -> bool:
    """Return whether every call succeeded whose results this model was told."""
    return all(block.ok for block in told.blocks if isinstance(block, ResultBlock))
