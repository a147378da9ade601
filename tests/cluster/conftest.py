"""One operator, installed from the chart into the real cluster, for all tests here; a namespace for each test."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pdcluster.images import Images
from pddemo import access
from pddemo.install import ensure_namespace, install_chart
from pddemo.kubernetes import Cluster


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of one test's own."""

    cluster: Cluster
    namespace: str


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    return access.running()


@pytest.fixture(scope="session")
def images() -> Images:
    return access.ensure_images()


@pytest.fixture(scope="session")
def operator(cluster: Cluster, images: Images) -> Cluster:
    install_chart(cluster, images)
    return cluster


@pytest.fixture(scope="module")
def place(operator: Cluster, request: pytest.FixtureRequest) -> Iterator[Place]:
    name = "t-" + re.sub(r"[^a-z0-9]+", "-", request.module.__name__.rpartition(".")[2].removeprefix("test_"))
    ensure_namespace(operator, name)
    yield Place(cluster=operator, namespace=name)
    operator.kubectl("delete", "namespace", name, "--wait=true", "--timeout=100s", timeout=120)
