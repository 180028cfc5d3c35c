"""A server that is not installed is a skipped test on a desk, and a failed one in CI. Both say how to install it."""

import pytest

from tests.servers.needed import need

INSTALL = "pip install a-server"


def test_a_test_is_skipped_with_the_line_that_installs_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=INSTALL):
        need(None, "a-server", INSTALL)


def test_in_ci_it_fails_with_that_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=INSTALL):
        need(None, "a-server", INSTALL)


def test_a_server_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    need("/usr/bin/a-server", "a-server", INSTALL)
