"""The text of a command, passed so that no process list shows it.

Every user of a machine can read the arguments of all processes, for example with `ps`. What an agent runs and searches
for is private, so it is not passed as an argument.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator

from deskmate.errors import ToolError
from deskmate.workspace.descriptors import inherited_limit

# Bash reads all of the text before it runs any of it, as with `bash -c`. Only then does an error have
# the same effect as there. A script file would be read line by line, and run under another name.
_READ_ALL = "IFS= read -r -d '' <&{fd}; exec {fd}<&-; eval \"$REPLY\""
# How a program refers to the first line of the file it was given.
NAMED_PATTERN = re.compile(r"/dev/fd/\d+:1: ")
_READ = ". /dev/fd/{fd}"


@contextlib.contextmanager
def handed_over(text: str) -> Iterator[int]:
    """Yield a descriptor from which a text can be read. Raises ToolError for a text that no program can be given."""
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
    """Return the words that make a shell run the text of a descriptor, with our original limit of open files."""
    limit, read = inherited_limit(), _READ_ALL if os.path.basename(shell) == "bash" else _READ
    return [shell, "-c", (f"ulimit -S -n {limit}; " if limit else "") + read.format(fd=fd)]


def file_named(fd: int) -> str:
    """Return the path by which a program reads a descriptor that it inherits."""
    return f"/dev/fd/{fd}"
