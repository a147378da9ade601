"""A watch that goes deaf without an error: the connection stays open and nothing comes any more."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.apiserver import Apiserver
from tests.support.operator import eventually, running_operator
from tests.support.place import CHILDREN, make_place
from tests.support.proxy import Proxy, running_proxy

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy(apiserver: Apiserver) -> Iterator[Proxy]:
    address = urlsplit(apiserver.url)
    with running_proxy(str(address.hostname), int(address.port or 443)) as running:
        yield running


@pytest.fixture
def through(apiserver: Apiserver, proxy: Proxy, tmp_path: Path) -> Path:
    """A kubeconfig that leads through the proxy."""
    text = apiserver.kubeconfig.read_text(encoding="utf-8").replace(
        apiserver.url, f"https://127.0.0.1:{proxy.listening}"
    )
    path = tmp_path / "kubeconfig"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.case("E-09")
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param({"PD_WATCH_INACTIVITY_SECONDS": "5"}, id="the silent watch is opened anew"),
        pytest.param({"PD_RESYNC_SECONDS": "10"}, id="or the resync finds it"),
    ],
)
def test_what_is_created_while_the_watch_is_deaf_is_handled(
    apiserver: Apiserver, proxy: Proxy, through: Path, tmp_path: Path, setting: dict[str, str]
) -> None:
    place = make_place(apiserver, f"deaf-{'-'.join(setting).lower().replace('_', '-')}")
    with running_operator(through, tmp_path / "log", namespace=place.namespace, **setting) as operator:
        place.create("before")
        place.complete("before")
        assert proxy.go_deaf() > 0
        place.create("after")
        # Requests on deaf connections must end too: each has a total time of its own.
        eventually(lambda: len(place.children("after")) == CHILDREN, what="handled", seconds=75, story=operator.story)
        assert operator.page("/healthz") == "ok\n"
        assert operator.process.poll() is None
