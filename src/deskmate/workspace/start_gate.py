"""Holds a command until all its limits are in place.

`confined` and `fenced` put it before a command's words, and open it. Where nobody is left to do so, it ends.
"""

import os
import sys

# It reads from its standard input: to be told that nobody is left to write there is not to be let in.
GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
OPEN = b"go\n"

# First it hands out what listens in the network that the command will have. What Python has changed is put right.
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
    """Return a gate that first listens on a port inside, and hands that out by a socket it inherits."""
    return os.path.realpath(sys.executable), "-I", "-S", "-c", _LISTENING, str(port), str(outward)
