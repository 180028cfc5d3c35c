"""The variables of the environment that the programs of agents get."""

# A list of secret ones would never be complete.
PASSED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TMPDIR", "TZ", "VIRTUAL_ENV"})


def is_passed(variable: str) -> bool:
    """Return whether commands, hooks and MCP servers get a variable."""
    return variable in PASSED or variable.startswith("LC_")
