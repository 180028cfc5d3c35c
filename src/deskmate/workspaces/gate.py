"""The gate: what a command waits at until all that bounds it is in place.

`confined` and `fenced` put it before a command's words, and open it. Where nobody is left to do so, it ends.
"""

# It reads from its standard input: to be told that nobody is left to write there is not to be let in.
GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
OPEN = b"go\n"
