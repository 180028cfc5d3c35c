"""Prompts of every shape that the runtime may ask, for Hypothesis."""

from hypothesis import strategies as st

from deskmate.core.prompt.prompts import (
    CallBlock,
    Image,
    Passage,
    Prompt,
    ResultBlock,
    Spoke,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)

PICTURES = {"a.png": b"\x89PNG", "b.jpg": b"\xff\xd8\xff"}
IMAGES = (Image("image/png", "a.png"), Image("image/jpeg", "b.jpg"))

# Surrogates included: a tool's odd output, or a model's, may hold them.
texts = st.text(max_size=20) | st.sampled_from(["", " \n", "\ud800", "grüße", '{"a": 1}'])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
arguments = st.dictionaries(texts, scalars | st.lists(scalars, max_size=2), max_size=3)
thoughts = (
    st.builds(ThinkingBlock, texts)
    | st.builds(ThinkingBlock, texts, st.text(min_size=1, max_size=5))
    | st.builds(lambda signature: ThinkingBlock("", signature, sealed=True), st.text(min_size=1, max_size=5))
)
tool_names = st.sampled_from(["bash", "read_file", "functions.bash", "", "läuft", "x" * 99])
tools = st.builds(
    ToolSpec,
    st.sampled_from(["bash", "read_file"]),
    st.text(min_size=1, max_size=20),
    st.just({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": False}),
)
words = st.builds(TextBlock, texts)
mail = st.builds(TextBlock, texts, st.sampled_from([(), IMAGES[:1], IMAGES]))


@st.composite
def passages(draw: st.DrawFn) -> tuple[Passage, ...]:
    """Alternating, begun and ended by one that is told; each call has its one result in the next."""
    found: list[Passage] = [Told(tuple(draw(st.lists(words | mail, min_size=1, max_size=2))))]
    for step in range(draw(st.integers(0, 3))):
        calls = draw(
            st.lists(
                st.builds(CallBlock, st.just(""), tool_names, arguments, st.sampled_from(["", "flaw"])), max_size=3
            )
        )
        calls = [CallBlock(f"lead:{step}.{i}", call.tool, call.arguments, call.flaw) for i, call in enumerate(calls)]
        said = draw(st.lists(words | thoughts, min_size=not calls, max_size=2))
        found.append(Spoke((*said, *calls)))
        results = [
            ResultBlock(call.id, draw(texts), draw(st.booleans()), draw(st.sampled_from([(), IMAGES[:1], IMAGES])))
            for call in calls
        ]
        told = draw(st.lists(words | mail, min_size=not calls, max_size=2))
        found.append(Told((*results, *told)))
    return tuple(found)


prompts = st.builds(Prompt, texts, passages(), st.lists(tools, max_size=2).map(tuple), st.just(PICTURES))
