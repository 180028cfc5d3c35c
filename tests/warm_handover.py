"""Be `deskmate` for a shell: hand it over to the warm process of `warm_program`, and end as that run does.

    python -ISE tests/warm_handover.py SOCKET ARGUMENTS      SOCKET: the inherited number of `warm_socket`

Such a start takes a twentieth of what `python -m deskmate` takes. To end it, send SIGTERM, which is passed
on: a run outlives a handover that is killed by SIGKILL.
"""

import json
import os
import signal
import socket
import sys


def main(warm: socket.socket, args: list[str]) -> int:
    """Have a run with the files, folder, environment and signals of this process. Return its exit code."""
    ours, its = socket.socketpair()
    request = {"args": args, "folder": os.getcwd(), "env": dict(os.environ), "terminal": False, "umask": -1}
    text = json.dumps(request).encode()
    socket.send_fds(warm, [len(text).to_bytes(4, "big") + text], [its.fileno(), 0, 1, 2])
    its.close()
    pid = int.from_bytes(ours.recv(4), "big")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    return int.from_bytes(ours.recv(4), "big", signed=True)


if __name__ == "__main__":
    code = main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
