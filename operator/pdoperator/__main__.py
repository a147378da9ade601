"""The program `pd-operator`: flags and environment -> RunSettings -> run."""

import argparse
import asyncio
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence

from prometheus_client import disable_created_metrics

from pdoperator import __version__, kopf_app
from pdoperator.controller.run import Exit, run
from pdoperator.controller.settings import RunSettings
from pdoperator.plan.plan import PlanSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 stopped as asked, 1 crashed, 2 wrong usage, 3 lost the lease."""
    arguments = _parser(os.environ).parse_args(argv)
    if arguments.command == "version":
        sys.stdout.write(f"pd-operator {__version__}\n")
        return Exit.CLEAN
    _log_to_stderr(level=arguments.log_level, as_json=arguments.log_format == "json")
    disable_created_metrics()  # type: ignore[no-untyped-call]  # or each counter has a second series that nobody reads
    settings = _settings(arguments, os.environ)
    try:
        return asyncio.run(run(settings, watch_events=kopf_app.watch))
    except Exception:
        logging.getLogger("pdoperator").exception("crashed")
        return Exit.CRASHED


def _settings(arguments: argparse.Namespace, env: Mapping[str, str]) -> RunSettings:
    return RunSettings(
        plan=PlanSettings(
            worker_image=arguments.worker_image,
            image_pull_policy=arguments.worker_image_pull_policy,
            operator_namespace=env.get("POD_NAMESPACE") or arguments.lease_namespace,
        ),
        namespaces=tuple(name.strip() for name in arguments.watch_namespaces.split(",") if name.strip()),
        lease_namespace=arguments.lease_namespace,
        lease_name=arguments.lease_name,
        identity=f"{env.get('POD_NAME') or socket.gethostname()}-{os.urandom(4).hex()}",  # a restart is another one
        lease_seconds=arguments.lease_seconds,
        http_port=arguments.http_port,
        resync_seconds=arguments.resync_seconds,
        concurrency=arguments.concurrency,
        watch_inactivity_seconds=arguments.watch_inactivity_seconds,
    )


def _parser(env: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pd-operator", description="Reconciles PDDeployments.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version", help="print the version")
    flags = commands.add_parser(
        "run", help="run the operator", epilog="Each flag's default is its environment variable."
    )

    def flag(name: str, *, default: str, text: str, kind: Callable[[str], object] = str) -> None:
        variable = "PD_" + name.upper().replace("-", "_")
        value = env.get(variable) or default
        flags.add_argument(
            f"--{name}", default=value, type=kind, help=f"{text} ({variable}, default {default or 'none'})"
        )

    flag(
        "worker-image",
        default="",
        kind=_given("--worker-image or PD_WORKER_IMAGE"),
        text="image of workers and routers where the spec names none",
    )
    policy = _one_of("Always", "IfNotPresent", "Never")
    flag("worker-image-pull-policy", default="IfNotPresent", text="when that image is pulled", kind=policy)
    flag("watch-namespaces", default="", text="namespaces to act in, with commas; none is cluster-wide")
    flag("lease-namespace", default=env.get("POD_NAMESPACE") or "default", text="where the Lease is")
    flag("lease-name", default="pd-operator", text="the Lease's name")
    flag("lease-seconds", default="15", text="a standby acts so long after the active operator died", kind=_at_least(3))
    flag("http-port", default="8080", text="port of /healthz, /readyz and /metrics", kind=_at_least(0))
    flag("resync-seconds", default="600", text="every PDDeployment is looked at so often", kind=_at_least(1))
    flag("concurrency", default="4", text="reconciles at once", kind=_at_least(1))
    flag("watch-inactivity-seconds", default="70", text="a watch silent for so long is opened anew", kind=_at_least(1))
    flag(
        "log-level",
        default="INFO",
        text="DEBUG, INFO, WARNING or ERROR",
        kind=_one_of("DEBUG", "INFO", "WARNING", "ERROR"),
    )
    flag("log-format", default="plain", text="plain or json", kind=_one_of("plain", "json"))
    return parser


def _at_least(minimum: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if (value := int(text)) < minimum:
            raise argparse.ArgumentTypeError(f"{value} is less than {minimum}")
        return value

    return whole_number


def _given(what: str) -> Callable[[str], str]:
    def text(value: str) -> str:
        if not value:
            raise argparse.ArgumentTypeError(f"{what} is required")
        return value

    return text


def _one_of(*names: str) -> Callable[[str], str]:
    def name(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(names)}")
        return text

    return name


def _log_to_stderr(*, level: str, as_json: bool) -> None:
    stream = logging.StreamHandler()
    stream.setFormatter(_Json() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[stream], force=True)
    # One line per event and handler is kopf's habit; ours are about what was done.
    logging.getLogger("kopf").setLevel(max(logging.WARNING, logging.getLevelName(level)))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {"time": self.formatTime(record), "level": record.levelname, "logger": record.name}
        entry["message"] = record.getMessage()
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


if __name__ == "__main__":
    sys.exit(main())
