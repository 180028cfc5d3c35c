"""Use a model that Deskmate does not know: any object with a name, limits and a method `stream`."""

from collections.abc import AsyncGenerator

from deskmate import Delta, ModelLimits, Prompt, Reply, TextBlock, TextDelta, run_sync


class Parrot:
    """A model that repeats the last thing it was told, in capitals."""

    name = "parrot:1"
    limits = ModelLimits(window=100_000, output=4_000)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield text as it arrives, then the whole reply. `prompt` has the system prompt, tools and messages."""
        told = [block.text for block in prompt.passages[-1].blocks if isinstance(block, TextBlock)]
        answer = told[0].upper()
        for word in answer.split():
            yield TextDelta(f"{word} ")
        yield Reply((TextBlock(answer),))


outcome = run_sync("Hello, who is there?", model=Parrot(), name="parrot")
print(outcome.text)
