"""What a person typed, as the name of a command and its arguments."""

import re
import shlex

from deskmate.core.values import frozen

# A name never has a slash, so a path that was pasted is none.
_TYPED = re.compile(r"/(?P<name>[^\W_][\w-]*(?::[^\W_][\w-]*)*)(?:\s+(?P<rest>.*))?", re.DOTALL)


@frozen
class TypedCommand:
    """A command as it was typed. `rest`: everything after its name."""

    name: str
    rest: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the name. Quotes keep words together, as in a shell, if all of them are closed."""
        try:
            return tuple(shlex.split(self.rest))
        except ValueError:
            return tuple(self.rest.split())


def typed_command(text: str) -> TypedCommand | None:
    """Return the command that a text begins with, or None if it does not begin like one."""
    found = _TYPED.fullmatch(text.strip())
    return TypedCommand(found["name"], (found["rest"] or "").strip()) if found else None
