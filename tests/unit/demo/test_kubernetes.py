import os

import pytest

from pddemo.kubernetes import CommandError, condition, run, until


def test_a_command_that_fails_says_what_it_printed() -> None:
    with pytest.raises(CommandError, match=r"status 3\nout\nerr"):
        run(["sh", "-c", "echo out; echo err >&2; exit 3"], env=os.environ, timeout=10)


def test_a_command_without_end_is_stopped() -> None:
    with pytest.raises(CommandError, match="no end after 0 s"):
        run(["sleep", "60"], env=os.environ, timeout=0.05)


def test_until_returns_what_the_check_found() -> None:
    answers = iter(["", "", "there"])
    assert until("it", lambda: next(answers), seconds=5, every=0) == "there"


def test_until_names_what_was_last_seen() -> None:
    def fail() -> str:
        raise CommandError("Pending")

    with pytest.raises(TimeoutError, match=r"the pod: not within 0 s; last seen: CommandError\('Pending'\)"):
        until("the pod", fail, seconds=0, every=0)


def test_an_unwritten_condition_is_empty() -> None:
    assert condition({"status": {"conditions": [{"type": "Ready"}]}}, "Degraded") == {}
    assert condition({}, "Ready") == {}
