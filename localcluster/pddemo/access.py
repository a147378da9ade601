"""Which cluster and which images: the user's where named in the environment, else the local ones."""

import os
from pathlib import Path

from pdcluster import bases, cluster, images, provided
from pdcluster.images import Images
from pdcluster.settings import Settings
from pddemo.kubernetes import Cluster

ROOT = Path(__file__).resolve().parents[2]


def ensure_up() -> Cluster:
    """The cluster of PD_KUBECONFIG, a kind, or the local one, brought up when it isn't."""
    if given := provided.find(os.environ):
        provided.check(given)
    else:
        cluster.up(Settings.from_environment(os.environ))
    return running()


def running() -> Cluster:
    """The same cluster as it is, up or not."""
    settings = Settings.from_environment(os.environ)
    given = provided.find(os.environ)
    tools = settings.binaries if settings.binaries.is_dir() else None
    return Cluster(kubeconfig=given.kubeconfig if given else settings.kubeconfig, tools=tools)


def ensure_images() -> Images:
    """The images of PD_OPERATOR_IMAGE and PD_WORKER_IMAGE, or those of this tree, built and loaded when they aren't."""
    if given := provided.find(os.environ):
        return provided.load(given, os.environ, ROOT)
    return images.load(Settings.from_environment(os.environ), ROOT, recipe=bases.recipe())
