"""Forms that the user is asked to fill in: of an MCP server during a call, or with the questions of a member.

A server writes its form, so it is hostile until it was read here. Whatever the user types is checked here, too.
"""

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from deskmate.errors import BadInput

_MOST_FIELDS, _MOST_CHOICES = 20, 100
_NAME, _TEXT, _VALUE = 100, 500, 10_000
Value: TypeAlias = str | int | float | bool | list[str]
Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
_KINDS: dict[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_YES, _NO = ("yes", "y", "true", "on", "1"), ("no", "n", "false", "off", "0")


class FormField(BaseModel):
    """One field. `choices`: the values that are possible, for the kinds with choices. `least`, `most`: of a number, of
    the length of a text, or of how many are chosen. `notes`: what each choice means. `free`: a choice can be given by
    its number, and any other text is possible, too.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    name: str
    kind: Kind
    about: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    default: Value | None = None
    least: float | None = None
    most: float | None = None
    notes: tuple[str, ...] | None = None
    free: bool | None = None

    @property
    def shown(self) -> str:
        """What the user reads about it: what to type and the server's words, or a question and its numbered choices."""
        if self.free:
            return "\n".join([self.about, *self._numbered()])
        what = " or ".join(filter(None, [", ".join(self.choices[:-1]), *self.choices[-1:]]))
        words = {"text": "a text", "number": "a number", "integer": "a whole number", "boolean": "yes or no"}
        typed = words.get(self.kind, f"{'some' if self.kind == 'choices' else 'one'} of {what}")
        limits = " to ".join(f"{limit:g}" for limit in (self.least, self.most) if limit is not None)
        notes = [typed, f"({limits})" if limits else "", "" if self.required else "optional"]
        default = "" if self.default is None else f"otherwise {json.dumps(self.default, ensure_ascii=False)}"
        return ", ".join(filter(None, [" ".join(filter(None, notes[:2])), notes[2], default])) + (
            f". {self.about}" if self.about else ""
        )

    def _numbered(self) -> Iterator[str]:
        notes = self.notes or ("",) * len(self.choices)
        for number, choice, note in zip(count(1), self.choices, notes, strict=False):
            yield f"{number}. {choice}{f': {note}' if note else ''}"
        yield "or several of them, or your own words" if self.kind == "choices" else "or your own words"

    @property
    def typed(self) -> str:
        """What to type for it, in one word."""
        if not self.free:
            return self.kind.upper()
        return "NUMBERS" if self.kind == "choices" else "NUMBER"

    def read(self, given: object) -> Value:
        """Return a value as the field takes it. Raises BadInput that says what is wrong."""
        match self.kind:
            case "text":
                text = _text(self.name, given)
                self._check(len(text), "characters")
                return text
            case "number" | "integer":
                return self._number(given)
            case "boolean":
                word = str(given).strip().lower()
                if word not in (*_YES, *_NO):
                    raise BadInput(f"'{self.name}' must be yes or no, not {ascii(given)[:80]}")
                return word in _YES
            case "choice":
                return self._choice(given)
            case "choices":
                several = given if isinstance(given, list) else [one.strip() for one in str(given).split(",")]
                chosen = [self._choice(one) for one in several if one != ""]
                self._check(len(chosen), "choices")
                return chosen

    def _number(self, given: object) -> int | float:
        try:
            found = float(str(given))
            value = int(found) if self.kind == "integer" or found.is_integer() else found
        except (ValueError, OverflowError):
            raise BadInput(f"'{self.name}' must be a number, not {ascii(given)[:80]}") from None
        if isinstance(given, bool) or not math.isfinite(found) or (self.kind == "integer" and value != found):
            raise BadInput(f"'{self.name}' must be a whole number, not {ascii(given)[:80]}")
        self._check(value, "")
        return value

    def _choice(self, given: object) -> str:
        found = [one for one in self.choices if one.casefold() == str(given).casefold()]
        chosen = str(given) if str(given) in self.choices else found[0] if len(found) == 1 else None
        if chosen is None and self.free:
            return self._own_words(str(given).strip())
        if chosen is None:
            raise BadInput(f"'{self.name}' must be one of {', '.join(self.choices)}, not {ascii(given)[:80]}")
        return chosen

    def _own_words(self, given: str) -> str:
        """Return the choice with a number, or else any text."""
        if given.isdecimal() and given.isascii() and 1 <= int(given[:9]) <= len(self.choices):
            return self.choices[int(given) - 1]
        if not given:
            raise BadInput(f"'{self.name}' has no answer", "Give the number of a choice, or your own words.")
        return _text(self.name, given)

    def _check(self, size: float, of: str) -> None:
        limits = (self.least is None or size >= self.least, self.most is None or size <= self.most)
        if not all(limits):
            what = "small" if limits[1] else "large"
            raise BadInput(f"'{self.name}' is too {what}: {size:g} {of}".rstrip())


def _text(name: str, given: object) -> str:
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text) > _VALUE:
        raise BadInput(f"'{name}' has {len(text):,} characters, and at most {_VALUE:,} are possible")
    return text


def read_form(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return the fields that a server asks for. Raises BadInput for anything but simple fields."""
    found, required = schema.get("properties"), schema.get("required") or []
    if not isinstance(found, dict) or not isinstance(required, list) or len(found) > _MOST_FIELDS:
        raise BadInput(f"its form is not one of at most {_MOST_FIELDS} simple fields")
    return tuple(_field(name, one, name in required) for name, one in found.items())


def _field(name: str, schema: object, required: bool) -> FormField:
    if not 0 < len(name) <= _NAME or not name.isprintable() or not isinstance(schema, dict):
        raise BadInput("its form has a field without a usable name")
    several = schema.get("type") == "array"
    inner = schema.get("items") if several else schema
    choices = tuple(_choices(inner)) if isinstance(inner, dict) else ()
    kind = ("choices" if several else "choice") if choices else _KINDS.get(str(schema.get("type")))
    if kind is None or len(choices) > _MOST_CHOICES:
        raise BadInput(f"its field '{name}' is of a kind that cannot be asked for")
    limits = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}.get(kind, ("minimum", "maximum"))
    least, most = (_limit(schema.get(limit)) for limit in limits)
    about = " ".join(str(schema[key]) for key in ("title", "description") if isinstance(schema.get(key), str))
    field = FormField(
        name=name, kind=kind, about=" ".join(about.split())[:_TEXT], required=required, choices=choices, least=least,
        most=most,
    )  # fmt: skip
    return (
        field if schema.get("default") is None else field.model_copy(update={"default": field.read(schema["default"])})
    )


def _choices(schema: Mapping[str, Any]) -> Iterator[str]:
    for key in ("enum", "oneOf", "anyOf"):
        for one in schema.get(key) or ():
            value = one.get("const") if isinstance(one, dict) else one
            if not isinstance(value, str) or not 0 < len(value) <= _TEXT:
                raise BadInput("its form has a choice that is not a text")
            yield value


def _limit(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else None


def example(fields: tuple[FormField, ...]) -> str:
    """Return what to type for a form, as `name=TEXT age=NUMBER`."""
    if len(fields) == 1:
        return fields[0].typed
    names = (field.name if field.name.isidentifier() else shlex.quote(field.name) for field in fields)
    return " ".join(f"{name}={field.typed}" for name, field in zip(names, fields, strict=True))


def read_values(fields: tuple[FormField, ...], typed: str) -> dict[str, Value]:
    """Return the values of a form, from JSON or from words such as `name="Ann Lee" age=3`.

    A form with one field also takes the value alone. Raises BadInput that says what is wrong or missing.
    """
    given = dict(_given(fields, typed.strip()))
    known = {field.name: field for field in fields}
    if strange := [name for name in given if name not in known]:
        raise BadInput(f"There is no field {ascii(strange[0])[:80]}", f"Fields: {', '.join(known)}")
    values = {name: known[name].read(value) for name, value in given.items() if value is not None}
    values = {field.name: field.default for field in fields if field.default is not None} | values
    if missing := [field.name for field in fields if field.required and field.name not in values]:
        raise BadInput(f"Missing: {', '.join(missing)}", f"Answer as in: yes {example(fields)}")
    return values


def _given(fields: tuple[FormField, ...], typed: str) -> Iterator[tuple[str, object]]:
    if typed.startswith("{"):
        try:
            found = json.loads(typed)
        except (ValueError, RecursionError):
            raise BadInput("This is not JSON") from None
        yield from found.items()
    elif len(fields) == 1 and typed and not typed.startswith(f"{fields[0].name}="):
        yield fields[0].name, typed
    else:
        try:
            words = shlex.split(typed)
        except ValueError:
            raise BadInput("A quote is not closed") from None
        yield from _named(fields, words).items()


def _named(fields: tuple[FormField, ...], words: list[str]) -> dict[str, str]:
    """Return the values of words such as `age=3`. A value of own words goes on until the next field."""
    own, values, last = {field.name: bool(field.free) for field in fields}, dict[str, str](), ""
    for word in words:
        name, sign, value = word.partition("=")
        if own.get(last) and name not in own:
            values[last] += f" {word}"
        elif sign:
            values[name], last = value, name
        else:
            raise BadInput(f"{ascii(word)[:80]} names no field", f"Answer as in: yes {example(fields)}")
    return values
