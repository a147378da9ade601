"""`python -m pdcluster COMMAND`: the local cluster from the command line."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pdcluster import bases, cluster, images, provided
from pdcluster.settings import Settings, SettingsError

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run one command; 0 when the cluster is what was asked for."""
    parser = argparse.ArgumentParser(prog="pdcluster", description=__doc__)
    parser.add_argument("command", choices=sorted(COMMANDS))
    command = COMMANDS[parser.parse_args().command]
    try:
        settings = Settings.from_environment(os.environ)
        return command(settings, provided.find(os.environ))
    except (RuntimeError, SettingsError, subprocess.SubprocessError, OSError) as error:
        print(f"pdcluster: {error}", file=sys.stderr)
        return 1


def _up(settings: Settings, given: provided.Provided | None) -> int:
    start = time.monotonic()
    if given:
        provided.check(given)
        print(f"cluster: {given.description}, as it is")
        return 0
    done = cluster.up(settings)
    print(f"cluster {settings.name}: {done} ({time.monotonic() - start:.1f} s); kubeconfig {settings.kubeconfig}")
    return 0


def _down(settings: Settings, given: provided.Provided | None) -> int:
    if given:
        print(f"cluster: {given.description}, left as it is")
        return 0
    cluster.down(settings)
    for trace in (left := cluster.remains(settings)):
        print(f"cluster {settings.name}: left behind: {trace}", file=sys.stderr)
    return 1 if left else 0


def _status(settings: Settings, given: provided.Provided | None) -> int:
    if given:
        provided.check(given)
        print(f"cluster: {given.description}: answers")
        return 0
    troubles = cluster.troubles(settings)
    for line in troubles or [f"cluster {settings.name}: well; kubeconfig {settings.kubeconfig}"]:
        print(line)
    return 1 if troubles else 0


def _env(settings: Settings, given: provided.Provided | None) -> int:
    kubeconfig = given.kubeconfig if given else settings.kubeconfig
    print(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}")
    print(f'export PATH={shlex.quote(str(settings.binaries))}:"$PATH"')
    return 0


def _kubeconfig(settings: Settings, given: provided.Provided | None) -> int:
    print(given.kubeconfig if given else settings.kubeconfig)
    return 0


def _images(settings: Settings, given: provided.Provided | None) -> int:
    del settings
    found = provided.images(given, os.environ, ROOT) if given else images.current(ROOT, recipe=bases.recipe())
    print(found.operator, found.worker, sep="\n")
    return 0


def _load_images(settings: Settings, given: provided.Provided | None) -> int:
    start = time.monotonic()
    found = provided.load(given, os.environ, ROOT) if given else images.load(settings, ROOT, recipe=bases.recipe())
    print(f"images: {found.operator} {found.worker} are there ({time.monotonic() - start:.1f} s)")
    return 0


Command = Callable[[Settings, provided.Provided | None], int]
COMMANDS: Mapping[str, Command] = {
    "up": _up,
    "down": _down,
    "status": _status,
    "env": _env,
    "kubeconfig": _kubeconfig,
    "images": _images,
    "load-images": _load_images,
}

if __name__ == "__main__":
    sys.exit(main())
