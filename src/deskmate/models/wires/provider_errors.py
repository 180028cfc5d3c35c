"""What went wrong at a provider, as one of our errors.

The status decides. Inside a stream there is none, so the provider's name for the error is mapped to a status.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from deskmate.core.values import frozen
from deskmate.errors import BadSettings, ModelError, ModelRejected, ModelTrouble, PicturesRejected, PromptTooLong
from deskmate.models.wires.json_fields import inner, read_object, words

MESSAGE_CAP = 500
LEAST_KEY = 8
EXCERPT_CAP = 200
_KEY = re.compile(r"[!-~]*")
_PASSING = frozenset({408, 409, 429})
_DENIED = frozenset({401, 403})
_OFFICIAL = frozenset(
    {
        "api.anthropic.com",
        "api.openai.com",
        "openrouter.ai",
        "api.groq.com",
        "api.deepseek.com",
        "generativelanguage.googleapis.com",
    }
)

# In an error's type, code or message: the prompt, or prompt and reply together, exceed the window.
_TOO_LONG = (
    "prompt is too long",
    "input is too long",
    "exceed context limit",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "context_length_exceeded",
    "maximum context length",
    "context length is only",
    "exceeds the available context size",
    "exceed_context_size_error",
    "request_too_large",
)

# In an error's message: the model takes no pictures. Not a picture that is damaged, too large or of the wrong type.
_NO_PICTURES = re.compile(
    r"(?:\bnot|n't) (?:support|accept)(?: \w+)? image(?:s\b| input| content|_url|[.,;]|$)"
    r"|image(?:s| input|_url)?(?: is| are) (?:not|only) supported|support image input"
    r"|unknown variant .?image|not a (?:multimodal|vision) model",
    re.IGNORECASE,
)

# The status that a provider would have sent if it had found the error before streaming.
_STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "invalid_api_key": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "model_not_found": 404,
        "request_too_large": 413,
        "context_length_exceeded": 400,
        "exceed_context_size_error": 400,
        "BadRequestError": 400,
        "rate_limit_error": 429,
        "rate_limit_exceeded": 429,
        "overloaded_error": 529,
    }
)
_UNKNOWN_STATUS = 500


@frozen
class SettingsOrigin:
    """Where the settings of a model come from, for its errors. Empty if that is not known.

    `address`: where its address was set. Empty if it has the address of its provider. `key`: where its key was set.
    `usual_model`: a model that the provider has.
    """

    address: str = ""
    key: str = ""
    usual_model: str = ""


@frozen
class ProviderEndpoint:
    """The address of a model, and the names used in its errors. `setting`: the variable for its key.

    Raises BadSettings for a key that no header can contain.
    """

    model: str
    url: str
    setting: str
    key: str | None = field(default=None, repr=False)
    origin: SettingsOrigin = SettingsOrigin()

    @property
    def place(self) -> str:
        """The server's address for an error message, and where it was set."""
        address, source = urlsplit(self.url), self.origin.address
        return f"{address.scheme}://{address.netloc}" + (f" (from {source})" if source else "")

    @property
    def is_official(self) -> bool:
        """Whether this is the address of the provider itself, which the user did not set."""
        return not self.origin.address and urlsplit(self.url).hostname in _OFFICIAL

    @property
    def way_to_reach_it(self) -> str:
        """What to check if there is no connection."""
        if self.is_official:
            return "Check your network, and HTTPS_PROXY if you need a proxy."
        return "Check the address, and that the server is running."

    @property
    def way_to_a_model(self) -> str:
        """What to check if the model is not found."""
        if not self.is_official:
            return "Check the model's name and its base URL."
        usual = self.origin.usual_model
        works = f" This one works: {usual}." if usual not in ("", self.model) else ""
        return f"Check the model's name.{works}"

    def __post_init__(self) -> None:
        if self.key is not None and not _KEY.fullmatch(self.key):
            raise BadSettings(
                f"{self.setting} contains spaces or characters that are not valid in a key", "Set the key again."
            )

    def hide(self, text: str) -> str:
        """Return a text for display: short, on one line, without the key."""
        # A short dummy key, as used if no key is needed, could be part of any word.
        shown = text.replace(self.key, "***") if self.key and len(self.key) >= LEAST_KEY else text
        return " ".join(shown[: 2 * MESSAGE_CAP].split())[:MESSAGE_CAP]

    def read(self, data: str) -> dict[str, Any]:
        """Return the JSON object of an event. Raises ModelTrouble if there is none: the event was cut on the way."""
        found = read_object(data)
        if found is None:
            raise ModelTrouble(f"{self.model} sent an event that is not a JSON object: {self.hide(data)[:EXCERPT_CAP]}")
        return found


@frozen
class Fault:
    """What a provider reported: its message, and its names for the kind of error."""

    message: str
    kinds: tuple[str, ...] = ()

    @property
    def too_long(self) -> bool:
        """Whether it says that the prompt is larger than the window."""
        said = " ".join((*self.kinds, self.message)).lower()
        return any(sign in said for sign in _TOO_LONG)

    @property
    def takes_no_pictures(self) -> bool:
        """Whether it says that the model cannot see pictures."""
        return bool(_NO_PICTURES.search(self.message))

    @property
    def status(self) -> int:
        """The status it maps to. An unknown error counts as passing."""
        for kind in self.kinds:
            if kind in _STATUS:
                return _STATUS[kind]
            if re.fullmatch("[45][0-9][0-9]", kind):
                return int(kind)
        return _UNKNOWN_STATUS


def fault_in(found: Mapping[str, Any]) -> Fault | None:
    """Return the fault under `error`, which may be an object or a string. None if there is none."""
    if message := words(found, "error"):
        return Fault(message)
    error = inner(found, "error")
    kinds = tuple(str(error[key]) for key in ("code", "type") if error.get(key))
    return Fault(words(error, "message") or json.dumps(error), kinds) if error else None


def read_fault(body: str) -> Fault:
    """Return the fault in the body of an answer. If its form is unknown, the whole body is the message."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return Fault(body)
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict):
        return Fault(body)
    return fault_in(found) or Fault(words(found, "message") or words(found, "detail") or body, (words(found, "type"),))


def failure(at: ProviderEndpoint, status: int, fault: Fault, retry_after: float | None = None) -> ModelError:
    """Return the error to raise for a status and a fault."""
    said = at.hide(fault.message) or "no reason given"
    if status in _DENIED:
        way = f"Check {at.origin.key or at.setting}." if at.key or at.origin.key else f"Set {at.setting}."
        return ModelRejected(f"{at.model} denied access ({status}): {said}", way)
    if status in _PASSING:
        return ModelTrouble(f"{at.model} cannot answer now ({status}): {said}", retry_after)
    if fault.takes_no_pictures:
        return PicturesRejected(
            f"{at.model} cannot take images ({status}): {said}",
            "Use a model that can: --model at the start, /model in a conversation. Or start a new team without images.",
        )
    if status == 413 or fault.too_long:
        return PromptTooLong(f"The prompt is too long for {at.model}: {said}")
    if status >= 500:
        return ModelTrouble(f"{at.model} failed ({status}): {said}", retry_after)
    if status == 404:
        return ModelRejected(f"{at.model} was not found ({status}): {said}", at.way_to_a_model)
    return ModelRejected(f"{at.model} does not accept this request ({status}): {said}")


def retry_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a provider asks to wait. The headers give milliseconds, seconds or a date."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    if (seconds := _number(asked)) is not None:
        return seconds
    until, now = _date(asked), _date(headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds()) if until else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
