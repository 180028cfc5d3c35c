"""The settings of a git repository, read with one command, and those of a new one, written as one text."""

from collections.abc import Iterator, Mapping

from deskmate.core.values import frozen

# In names of sections git knows only these two escapes. A name has no line end.
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"'})
# What a setting without a value means.
_WITHOUT_VALUE = "true"


@frozen
class GitSetting:
    """One setting. `key`: as git prints it, so the section and the last part are in lower case.

    `scope`: which settings have it, such as `local` for those of the repository.
    """

    scope: str
    key: str
    value: str


@frozen
class GitSettings:
    """All settings that apply to a repository, in the order in which git reads them."""

    all: tuple[GitSetting, ...]

    def __iter__(self) -> Iterator[GitSetting]:
        return iter(self.all)

    def last(self, key: str) -> str:
        """Return the value that counts for a key such as `core.eol`. Empty if there is none."""
        return next((one.value for one in reversed(self.all) if one.key == key.lower()), "")

    def is_on(self, key: str) -> bool:
        """Tell whether a setting that is on or off is on."""
        return self.last(key).lower() in ("true", "yes", "on", "1")


def read_settings(printed: str) -> GitSettings:
    """Read what `git config --list --show-scope -z` printed."""
    fields = printed.split("\0")
    found = list[GitSetting]()
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, has_value, value = setting.partition("\n")
        found.append(GitSetting(scope, key, value if has_value else _WITHOUT_VALUE))
    return GitSettings(tuple(found))


def settings_text(settings: Mapping[str, str]) -> str:
    """Return settings as they are in a file of git."""
    return "".join(f"{_head(key)}\n\t{_name(key)} = {_value(value)}\n" for key, value in settings.items())


def _head(key: str) -> str:
    """Return the line of the section. What is between the first and the last dot of a key can be any text."""
    section, _, rest = key.partition(".")
    below = rest.rpartition(".")[0]
    return f"[{section} {_quoted(below)}]" if below else f"[{section}]"


def _name(key: str) -> str:
    return key.rpartition(".")[2]


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'


def _value(text: str) -> str:
    return _quoted(text).replace("\n", "\\n")
