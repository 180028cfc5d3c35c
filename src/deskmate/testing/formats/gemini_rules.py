"""What the Gemini API requires of a conversation.

`conversations` has checked that there are contents. `format_shapes` has what all formats require.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from deskmate.testing.formats.anthropic_format import is_sealed
from deskmate.testing.formats.format_shapes import image, is_count, is_name, objects, tool_names, unknown_fields, word

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_UNSIGNED = "skip_thought_signature_validator"
_EARLIER = re.compile(r"gemini-[12]\b")

# The last two come with the address: see `fake_provider`.
_REQUEST = "cachedContent contents generationConfig safetySettings systemInstruction toolConfig tools model stream"
_CONFIG = """
candidateCount frequencyPenalty maxOutputTokens presencePenalty responseMimeType responseModalities responseSchema seed
stopSequences temperature thinkingConfig topK topP
"""
_KINDS = frozenset({"text", "functionCall", "functionResponse", "inlineData"})


def flaws(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that is wrong with a request."""
    yield from unknown_fields("body", body, _REQUEST.split())
    config = body.get("generationConfig", {})
    if not isinstance(config, dict):
        yield "generationConfig: must be an object"
        config = {}
    yield from unknown_fields("generationConfig", config, _CONFIG.split())
    if "maxOutputTokens" in config and not is_count(config["maxOutputTokens"]):
        yield "generationConfig.maxOutputTokens: must be a whole number above 0"
    yield from _tools(body.get("tools", []))
    for place, content in enumerate(body["contents"]):
        yield from _content(f"contents.{place}", content)
    yield from _order(body["contents"])
    if not _EARLIER.match(str(body.get("model"))):
        yield from _signatures(body["contents"])


def _tools(tools: Any) -> Iterator[str]:
    listed = [tool.get("functionDeclarations") for tool in objects(tools)]
    if not isinstance(tools, list) or len(listed) != len(tools) or not all(isinstance(each, list) for each in listed):
        yield "tools: must be a list of objects with functionDeclarations"
        return
    declared = [each for some in listed for each in objects(some)]
    schemas = [schema_of(each) for each in declared]
    found = [(f"tools.{place}", each.get("name"), schemas[place]) for place, each in enumerate(declared)]
    yield from tool_names(found, _NAME)


def schema_of(declared: Mapping[str, Any]) -> Any:
    """Return the schema of a function. The API takes both spellings, and the vendor's client writes the second."""
    return declared.get("parametersJsonSchema", declared.get("parameters_json_schema"))


def _content(place: str, content: Any) -> Iterator[str]:
    role, parts = word(content, "role"), content.get("parts") if isinstance(content, dict) else None
    if role not in ("user", "model"):
        yield f"{place}: must have the role user or model"
    if not isinstance(parts, list) or not parts:
        yield f"{place}: must include at least one parts field"
        return
    for index, part in enumerate(parts):
        yield from _part(f"{place}.parts.{index}", part, role == "model")


def _part(place: str, part: Any, is_model: bool) -> Iterator[str]:
    kinds = [kind for kind in part if kind in _KINDS] if isinstance(part, dict) else []
    if len(kinds) != 1:
        yield f"{place}: must have exactly one of {', '.join(sorted(_KINDS))}"
        return
    yield from unknown_fields(place, part, {*_KINDS, "thoughtSignature", "thought"})
    value = part[kinds[0]]
    match kinds[0]:
        case "text" if not isinstance(value, str) or not value:
            yield f"{place}: the text is empty"
        case "functionCall" if not is_model or not is_name(word(value, "name"), _NAME):
            yield f"{place}: a call needs a name, and belongs to a model"
        case "functionResponse" if is_model or not isinstance(value, dict) or not _is_object(value.get("response")):
            yield f"{place}: a result needs a response that is an object, and belongs to a user"
        case "inlineData":
            media_type = word(value, "mimeType") or word(value, "mime_type")
            yield from image(place, media_type, _standard(word(value, "data") or ""))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _order(contents: list[Any]) -> Iterator[str]:
    """Yield calls whose results are not in the next content, and results without a call."""
    before: list[tuple[str | None, str | None]] = []
    for place, content in enumerate([*contents, {}]):
        results = [(word(each, "name"), word(each, "id")) for each in _values(content, "functionResponse")]
        if sorted(map(str, results)) != sorted(map(str, before)):
            yield (
                f"contents.{place}: the number of function response parts must be equal to the number of function call "
                "parts of the function call turn, with the same names and ids"
            )
        before = [(word(each, "name"), word(each, "id")) for each in _values(content, "functionCall")]


def _signatures(contents: list[Any]) -> Iterator[str]:
    for place, content in enumerate(contents):
        calls = [part for part in _parts_of(content) if isinstance(part.get("functionCall"), dict)]
        if not calls:
            continue
        given = word(calls[0], "thoughtSignature") or ""
        if given != _UNSIGNED and not is_sealed(_decoded(given)):
            yield f"contents.{place}: function call is missing a thought_signature, or it is not valid"


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(_standard(text), validate=True).decode()
    except ValueError:
        return ""


def _standard(text: str) -> str:
    """Return base64 in its usual alphabet. The API takes both, and the vendor's client writes the other one."""
    return text.translate(str.maketrans("-_", "+/"))


def _parts_of(content: Any) -> list[dict[str, Any]]:
    return objects(content.get("parts")) if isinstance(content, dict) else []


def _values(content: Any, kind: str) -> list[dict[str, Any]]:
    return [part[kind] for part in _parts_of(content) if isinstance(part.get(kind), dict)]
