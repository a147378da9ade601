"""The command line of the transfer worker."""

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from pdworker import __version__, config, load, router

LOG = logging.getLogger("pdworker")
PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: it ended as asked; 1: it failed; 2: the command line or the environment is wrong."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(level=os.environ.get("PD_LOG_LEVEL", "INFO"), format="%(asctime)s %(levelname)s %(message)s")
    try:
        return int(asked.run(asked))
    except config.ConfigError as wrong:
        LOG.error("%s", wrong)  # noqa: TRY400 -- the message is the whole story
        return 2
    except (OSError, RuntimeError) as failed:
        LOG.error("%s", failed)  # noqa: TRY400 -- the last line of a pod's log says why it ended
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pd-worker", description="Move KV pages between prefill and decode.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run a worker pod; everything comes from the environment")
    serve.set_defaults(run=_serve)
    rank = commands.add_parser("rank", help="run one rank; `serve` starts these")
    rank.add_argument("number", type=int)
    rank.add_argument("socket", type=Path)
    rank.add_argument("--parent", type=int, required=True, help="the process to end with")
    rank.set_defaults(run=_rank)
    routing = commands.add_parser("router", help="run the router; everything comes from the environment")
    routing.set_defaults(run=_router)
    driving = commands.add_parser("load", help="send requests to a router and say what was moved")
    driving.add_argument("--url", required=True, help="of the router, as in http://127.0.0.1:30000")
    driving.add_argument("--requests", type=_positive, default=16)
    driving.add_argument("--concurrency", type=_positive, default=2)
    driving.add_argument("--prompt-tokens", type=_positive, default=1024)
    driving.add_argument("--timeout", type=float, default=120.0, help="seconds for one request (default: %(default)s)")
    driving.add_argument("-o", dest="output", choices=("text", "json"), default="text")
    driving.set_defaults(run=_load)
    return parser


def _serve(_: argparse.Namespace) -> int:
    from pdworker import supervisor  # noqa: PLC0415 -- `load` and `router` start faster without it

    asyncio.run(supervisor.serve(config.read(os.environ)))
    return 0


def _rank(asked: argparse.Namespace) -> NoReturn:
    _end_with(asked.parent)
    from pdworker import rank  # noqa: PLC0415 -- torch and the engine are a rank's alone

    asyncio.run(rank.run(config.read(os.environ), rank=asked.number, socket=asked.socket))
    logging.shutdown()
    os._exit(0)  # all is closed; the interpreter would still take seconds to take torch apart, in every rank at once


def _router(_: argparse.Namespace) -> int:
    try:
        settings = router.Settings.read(os.environ)
    except KeyError as missing:
        raise config.ConfigError(f"{missing.args[0]} is not set") from None
    asyncio.run(router.serve(settings))
    return 0


def _load(asked: argparse.Namespace) -> int:
    summary = asyncio.run(
        load.run(
            asked.url,
            requests=asked.requests,
            concurrency=asked.concurrency,
            prompt_tokens=asked.prompt_tokens,
            timeout_s=asked.timeout,
        )
    )
    sys.stdout.write((summary.json() if asked.output == "json" else summary.text()) + "\n")
    return 1 if summary.failures else 0


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its supervisor dies, however it dies: no orphan keeps the ports."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was asked
        raise OSError(f"the supervisor, process {parent}, is gone already")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
