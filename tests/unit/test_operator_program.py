"""The program's flags and environment."""

import json
import logging

import pytest

from pdoperator import __main__ as program


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["version"]) == 0
    assert capsys.readouterr().out == "pd-operator 0.1.0\n"


def settings(env: dict[str, str], *argv: str) -> object:
    return program._settings(program._parser(env).parse_args(["run", *argv]), env)


def test_defaults() -> None:
    found = program._settings(program._parser({}).parse_args(["run", "--worker-image=x:1"]), {})
    assert found.plan.worker_image == "x:1"
    assert (found.namespaces, found.lease_namespace, found.lease_name, found.lease_seconds) == ((), "default", "pd-operator", 15)  # fmt: skip # noqa: E501
    assert (found.http_port, found.resync_seconds, found.concurrency) == (8080, 600, 4)


def test_environment_and_flags() -> None:
    env = {
        "PD_WORKER_IMAGE": "x:1",
        "PD_WATCH_NAMESPACES": "team-a, team-b,",
        "POD_NAMESPACE": "pd-system",
        "POD_NAME": "pd-operator-0",
        "PD_HTTP_PORT": "9090",
    }
    found = program._settings(program._parser(env).parse_args(["run", "--http-port", "7070"]), env)
    assert found.namespaces == ("team-a", "team-b")
    assert found.lease_namespace == "pd-system"
    assert found.plan.operator_namespace == "pd-system"
    assert found.http_port == 7070
    assert found.identity.startswith("pd-operator-0-")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        pytest.param({}, "--worker-image or PD_WORKER_IMAGE is required", id="no image"),
        pytest.param({"PD_WORKER_IMAGE": "x", "PD_CONCURRENCY": "0"}, "0 is less than 1", id="no worker"),
        pytest.param({"PD_WORKER_IMAGE": "x", "PD_RESYNC_SECONDS": "soon"}, "invalid", id="a word for a number"),
        pytest.param({"PD_WORKER_IMAGE": "x", "PD_LEASE_SECONDS": "1"}, "1 is less than 3", id="too short a lease"),
        pytest.param({"PD_WORKER_IMAGE": "x", "PD_LOG_LEVEL": "LOUD"}, "'LOUD' is none of", id="no such level"),
    ],
)
def test_wrong_usage_ends_with_2(env: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(env)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_json_log_lines_are_objects_with_the_exception() -> None:
    error = KeyError("x")
    record = logging.LogRecord("pd", logging.ERROR, "", 1, "%s broke", ("it",), (KeyError, error, None))
    entry = json.loads(program._Json().format(record))
    assert (entry["level"], entry["logger"], entry["message"]) == ("ERROR", "pd", "it broke")
    assert "KeyError" in entry["exception"]
