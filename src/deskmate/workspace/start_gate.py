"""Holds a command until all its limits are in place.

The gate is put before the words of a command. If the process that should open it ends, the gate ends too.
"""

import os
import sys

# It reads from stdin. The end of input means that nobody is left to open the gate, so the command does not start.
GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
OPEN = b"go\n"

# First it passes out a socket that listens in the command's network. It resets the signals that Python changed. It uses
# the modules in C below `signal` and `socket`, because importing those takes as long as all the rest.
_LISTENING = """
import _signal, _socket, os, sys
port, outward = map(int, sys.argv[1:3])
listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
listener.listen(128)
told = _socket.socket(fileno=outward)
passed = listener.fileno().to_bytes(4, sys.byteorder)
told.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
listener.close()
told.close()
if os.read(0, 3) != b"go\\n":
    sys.exit(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(number, _signal.SIG_DFL)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def listening_gate(port: int, outward: int) -> tuple[str, ...]:
    """Return a gate that first listens on a port inside, and sends that socket out through one it inherits."""
    return os.path.realpath(sys.executable), "-I", "-S", "-c", _LISTENING, str(port), str(outward)
