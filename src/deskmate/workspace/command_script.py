"""The text of a command, passed so that no process list shows it.

Every user of a machine can read the arguments of all processes, for example with `ps`. What an agent runs and searches
for is nobody else's business, so it is not passed as an argument. `local` above hands it over.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator

from deskmate.errors import ToolError
from deskmate.workspace.descriptors import inherited_limit

# Bash reads all of the text before it runs any of it, as it does with a text among its words: only so does it go on, or
# not, after an error as it would there. A script in a file it reads line by line, under another name.
_READ_ALL = "IFS= read -r -d '' <&{fd}; exec {fd}<&-; eval \"$REPLY\""
# What a program calls the first line of what it was handed.
NAMED_PATTERN = re.compile(r"/dev/fd/\d+:1: ")
_READ = ". /dev/fd/{fd}"


@contextlib.contextmanager
def handed_over(text: str) -> Iterator[int]:
    """Lend a descriptor that a text can be read from; raise ToolError for one that no program can be given."""
    try:
        data = os.fsencode(text)
    except ValueError:
        data = b"\0"
    if b"\0" in data:
        raise ToolError("The command contains a NUL or an invalid character. Remove it.")
    with contextlib.ExitStack() as stack:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("command")
            stack.callback(os.close, fd)
        else:
            fd = stack.enter_context(tempfile.TemporaryFile()).fileno()
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd


def shell_words(shell: str, fd: int) -> list[str]:
    """Return the words that have a shell run what it reads there, with the limit of open files that we were given."""
    limit, read = inherited_limit(), _READ_ALL if os.path.basename(shell) == "bash" else _READ
    return [shell, "-c", (f"ulimit -S -n {limit}; " if limit else "") + read.format(fd=fd)]


def file_named(fd: int) -> str:
    """Return the path by which a program reads a descriptor that it has."""
    return f"/dev/fd/{fd}"
