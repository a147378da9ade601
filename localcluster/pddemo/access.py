"""Which cluster and which images: the user's where named in the environment, else the local ones."""

import os
import subprocess
import sys
from pathlib import Path

from pddemo.install import Images
from pddemo.kubernetes import Cluster, CommandError

UP_SECONDS = 300  # the cluster is up in one; more is a hang
IMAGES_SECONDS = 1200  # a cold base image with torch is minutes on two cores


def ensure_up() -> Cluster:
    """The cluster of PD_KUBECONFIG, or the local one, brought up when it isn't."""
    _pdcluster("up", seconds=UP_SECONDS)
    return running()


def running() -> Cluster:
    """The cluster as it is. Raises CommandError when there is none."""
    kubeconfig = Path(_pdcluster("kubeconfig", seconds=UP_SECONDS).strip())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = cache / "pd-operator" / "bin"
    return Cluster(kubeconfig=kubeconfig, tools=tools if tools.is_dir() else None)


def ensure_images() -> Images:
    """The images of PD_OPERATOR_IMAGE and PD_WORKER_IMAGE, or those of this tree, built and loaded when they aren't."""
    named = os.environ.get("PD_OPERATOR_IMAGE"), os.environ.get("PD_WORKER_IMAGE")
    if named[0] and named[1]:
        return Images(operator=named[0], worker=named[1])
    if os.environ.get("PD_KUBECONFIG"):
        raise CommandError(
            "PD_KUBECONFIG names a cluster that this machine can't load images into: push the two images of the "
            "Dockerfile to a registry it reaches, and set PD_OPERATOR_IMAGE and PD_WORKER_IMAGE"
        )
    _pdcluster("load-images", seconds=IMAGES_SECONDS)
    operator, worker = _pdcluster("images", seconds=UP_SECONDS).split()
    return Images(operator=operator, worker=worker)


def _pdcluster(verb: str, *, seconds: float) -> str:
    """Run one verb of pdcluster; its progress goes to our standard error, its answer is returned."""
    done = subprocess.run(
        [sys.executable, "-m", "pdcluster", verb], stdout=subprocess.PIPE, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise CommandError(f"pdcluster {verb}: status {done.returncode}\n{done.stdout}".rstrip())
    return done.stdout
