"""One API server for the whole session: tests keep apart by namespaces and names of their own."""

from collections.abc import Iterator

import pytest

from tests.support.apiserver import Apiserver, running_apiserver


@pytest.fixture(scope="session")
def apiserver() -> Iterator[Apiserver]:
    """A real kube-apiserver with the controllers that act on objects alone (garbage collection and so on)."""
    with running_apiserver(controllers=True) as server:
        yield server
