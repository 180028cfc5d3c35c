"""Keys that Textual does not tell apart.

Most terminals send Escape before a key that is pressed with Alt. Textual takes Alt-Enter for Enter, and Alt with a
digit for another character.
"""

from enum import Enum

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

_ESCAPE = "\x1b"
_ALT_KEYS = {"\r": "alt+enter", "\n": "alt+enter", **{str(digit): f"alt+{digit}" for digit in range(1, 10)}}


def tell_alt_keys_apart() -> None:
    """Let Textual report these keys with Alt, as it does for terminals that name them."""
    keys = Enum("AltKey", {f"KEY_{n}": name for n, name in enumerate(dict.fromkeys(_ALT_KEYS.values()))})  # type: ignore[misc]
    by_name = {key.value: key for key in keys}
    ANSI_SEQUENCES_KEYS.update({_ESCAPE + sent: (by_name[name],) for sent, name in _ALT_KEYS.items()})  # type: ignore[attr-defined]
