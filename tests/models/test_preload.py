"""What an answer needs is loaded while the first answer arrives."""

import threading

import pytest

from deskmate.core.prompt.prompts import Prompt, Reply, TextBlock, Told
from deskmate.models.preload import Preloading
from deskmate.testing import ScriptedModel

pytestmark = pytest.mark.anyio

PROMPT = Prompt("", (Told((TextBlock("hello"),)),))


async def test_loading_begins_once_with_the_first_answer_and_on_another_thread() -> None:
    loaded: list[str] = []
    done = threading.Event()

    def load() -> None:
        loaded.append(threading.current_thread().name)
        done.set()

    model = Preloading(ScriptedModel(["one", "two"]), load)
    stream = model.stream(PROMPT)
    assert loaded == []
    replies = [part async for part in stream if isinstance(part, Reply)]
    replies += [part async for part in model.stream(PROMPT) if isinstance(part, Reply)]
    assert done.wait(10)
    assert (len(replies), len(loaded)) == (2, 1)
    assert loaded != [threading.current_thread().name]
