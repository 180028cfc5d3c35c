"""What the figures were measured on."""

import os
import platform
import time
from pathlib import Path

from benchmarks.measure import percentile

_MOUNTS = Path("/proc/self/mountinfo")


def facts(folder: Path) -> dict[str, object]:
    """Return cores and their load, Python, file system of the folder, and what a small sync costs there."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "file system": file_system(folder),
        "fdatasync p50 in ms": round(_fdatasync_ms(folder), 3),
    }


def warnings(machine: dict[str, object]) -> list[str]:
    """Return what makes figures from this machine doubtful."""
    found = []
    if machine["file system"] in ("tmpfs", "ramfs"):
        found.append("this file system is memory, so a sync is free here; choose a disk with --folder")
    if float(str(machine["load"])) > 1:
        found.append("this machine is busy with other work; the figures will be too low")
    return found


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds `folder`; `unknown` where the system lists none."""
    if not _MOUNTS.exists():
        return "unknown"
    path = folder.resolve()
    # The fifth field is the mount point, the one after the dash the type. The longest mount point that holds
    # the folder counts, and of equal ones the last, which hides those before it.
    mounts = [mount.split(" ") for mount in _MOUNTS.read_text().splitlines()]
    holding = [mount for mount in mounts if path.is_relative_to(mount[4].replace("\\040", " "))]
    nearest = max(enumerate(holding), key=lambda at: (len(at[1][4]), at[0]))[1]
    return nearest[nearest.index("-") + 1]


def _fdatasync_ms(folder: Path, writes: int = 200) -> float:
    path = folder / "fdatasync"
    taken = []
    with path.open("ab", buffering=0) as file:
        for _ in range(writes):
            file.write(b"." * 350)
            began = time.perf_counter_ns()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter_ns() - began)
    path.unlink()
    return percentile(taken, 0.5)
