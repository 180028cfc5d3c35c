"""A PostgreSQL server for tests, reached through a socket in a folder of its own."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

INSTALL = "apt-get install -y --no-install-recommends postgresql"
_USER, _DATABASE = "deskmate", "postgres"
_NOBODY = 65534
_START_SECONDS, _STOP_SECONDS = 60.0, 30.0
# Small, because several run at once. What makes it durable stays on.
_OPTIONS = ("shared_buffers=16MB", "listen_addresses=", "autovacuum_naptime=10min", "log_min_messages=fatal")


def postgres_programs() -> Path | None:
    """Return the folder with the programs of the server, or None if it is not installed."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True)
    found = shutil.which("initdb")
    folders = ([Path(os.path.realpath(found)).parent] if found else []) + debian
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class PostgresServer:
    """A server whose files are in `folder`, which must be empty. It refuses to run as root, so then it is `nobody`.

    With a `primary` it is a streaming replica of that server. `close` ends it, and so does the end of this process on
    Linux.
    """

    def __init__(self, folder: Path, *options: str, primary: "PostgresServer | None" = None) -> None:
        programs = postgres_programs()
        if programs is None:
            raise FileNotFoundError(f"PostgreSQL is not installed. To install it, run: {INSTALL}")
        self._programs, self.folder, self._data = programs, folder, folder / "data"
        self._options = [word for option in (*_OPTIONS, *options) for word in ("-c", option)]
        self._process: subprocess.Popen[bytes] | None = None
        folder.chmod(0o700)
        if os.getuid() == 0:
            os.chown(folder, _NOBODY, _NOBODY)
        data = ("-D", str(self._data), "--no-sync")
        if primary is None:
            self.run("initdb", *data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale")
        else:
            self.run("pg_basebackup", *data, "--write-recovery-conf", "--checkpoint=fast", "--dbname", primary.url)
        self.start()

    @property
    def url(self) -> str:
        """The address of the database for tests."""
        return f"postgresql://{_USER}@/{_DATABASE}?host={self.folder}"

    def start(self, *options: str) -> None:
        """Start the server, again after `kill`, and return when it can be used."""
        more = [word for option in options for word in ("-c", option)]
        words = [str(self._programs / "postgres"), "-D", str(self._data), "-k", str(self.folder), *self._options, *more]
        self._process = subprocess.Popen(
            [*_as_nobody("--pdeathsig", "INT"), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        until = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                assert self._process.stderr is not None
                raise RuntimeError(f"PostgreSQL did not start: {self._process.stderr.read(4096).decode()}")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        words = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder), "-d", _DATABASE, "-U", _USER]
        return subprocess.run(words, check=False).returncode == 0

    def kill(self) -> None:
        """Kill the postmaster, and wait until no process of the server is left."""
        assert self._process is not None, "it was started"
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        # Its other processes have the same pipe, and end by themselves.
        self._process.stderr.read()
        self._process.stderr.close()

    def url_at(self, address: str) -> str:
        """Return the URL for machines of a network at whose address the server listens, after letting them in."""
        with (self._data / "pg_hba.conf").open("a") as allowed:
            allowed.write(f"host all all {address}/24 trust\n")
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGHUP)
        return f"postgresql://{_USER}@{address}/{_DATABASE}"

    def disturb(self) -> None:
        """Kill the server and start it again."""
        self.kill()
        self.start()

    def bodies(self, team: str, stream: str) -> list[bytes]:
        """Return the records of a stream, read with the server's own client."""
        query = (
            "SELECT r.body FROM deskmate.record r JOIN deskmate.stream s ON s.id = r.stream JOIN deskmate.team t"
            f" ON t.id = s.team WHERE t.name = '{team}' AND s.name = '{stream}' ORDER BY r.number"
        )
        words = [str(self._programs / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", self.url, "-c", query]
        return subprocess.run(words, check=True, capture_output=True).stdout.splitlines()

    def close(self) -> None:
        """End the server."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def run(self, program: str, *words: str) -> str:
        """Run a program of this version of PostgreSQL as the server's user, and return what it printed."""
        done = subprocess.run(
            [*_as_nobody(), str(self._programs / program), *words], capture_output=True, check=False, cwd="/"
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode()}")
        return done.stdout.decode()

    def sql(self, *queries: str) -> str:
        """Run queries, each in a transaction of its own, and return what they printed."""
        words = [word for query in queries for word in ("-c", query)]
        return self.run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url, *words)


def _as_nobody(*more: str) -> list[str]:
    """Return the words before a program that must not run as root."""
    if shutil.which("setpriv") is None:
        return []
    user = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *user, *more] if user or more else []
