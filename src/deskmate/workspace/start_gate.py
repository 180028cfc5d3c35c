"""Holds a command until all its limits are in place.

The gate is put before the words of a command. If the process that should open it ends, the gate ends too.
"""

import os
import sys

# It reads from stdin. The end of input means that nobody is left to open the gate, so the command does not start.
GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
OPEN = b"go\n"

# First it passes out a socket that listens in the command's network. It resets the signals that Python changed.
_LISTENING = """
import os, signal, socket, sys
port, outward = map(int, sys.argv[1:3])
with socket.create_server(("127.0.0.1", port)) as listener, socket.socket(fileno=outward) as told:
    socket.send_fds(told, [b"!"], [listener.fileno()])
if os.read(0, 3) != b"go\\n":
    sys.exit(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def listening_gate(port: int, outward: int) -> tuple[str, ...]:
    """Return a gate that first listens on a port inside, and sends that socket out through one it inherits."""
    return os.path.realpath(sys.executable), "-I", "-S", "-c", _LISTENING, str(port), str(outward)
