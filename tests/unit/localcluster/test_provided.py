from pathlib import Path

import pytest

from pdcluster import provided
from pdcluster.images import Images
from pdcluster.provided import Provided, ProvidedError


@pytest.fixture(autouse=True)
def kind_clusters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(provided, "_kind_clusters", lambda: names)
    monkeypatch.setattr(provided, "_run", lambda *_command, **_options: "")
    return names


def test_without_a_word_and_without_kind_the_cluster_is_our_own() -> None:
    assert provided.find({}) is None


def test_a_kubeconfig_comes_first(kind_clusters: list[str]) -> None:
    kind_clusters.append("pd-operator")
    assert provided.find({"PD_KUBECONFIG": "/k"}) == Provided(Path("/k"), "PD_KUBECONFIG=/k")


@pytest.mark.parametrize(
    ("running", "asked", "expected"),
    [
        pytest.param(["pd-operator"], {}, "pd-operator", id="a kind of our name is used"),
        pytest.param(["somebodys"], {}, None, id="somebody's kind is left alone"),
        pytest.param(["somebodys"], {"PD_KIND": "somebodys"}, "somebodys", id="unless it is named"),
    ],
)
def test_a_running_kind(
    tmp_path: Path, kind_clusters: list[str], running: list[str], asked: dict[str, str], expected: str | None
) -> None:
    kind_clusters += running
    found = provided.find({"XDG_CACHE_HOME": str(tmp_path), **asked})
    assert (found.kind if found else None) == expected


def test_a_kind_that_does_not_run_is_named_in_the_refusal() -> None:
    with pytest.raises(ProvidedError, match="PD_KIND='gone'"):
        provided.find({"PD_KIND": "gone"})


@pytest.mark.parametrize(
    "environment",
    [pytest.param({}, id="neither"), pytest.param({"PD_OPERATOR_IMAGE": "a"}, id="only the operator's")],
)
def test_a_cluster_that_pulls_must_be_told_both_images(environment: dict[str, str]) -> None:
    with pytest.raises(ProvidedError, match="PD_OPERATOR_IMAGE and PD_WORKER_IMAGE"):
        provided.images(Provided(Path("/k"), "PD_KUBECONFIG=/k"), environment, Path("/root"))


def test_the_images_of_such_a_cluster_are_the_named_ones() -> None:
    environment = {"PD_OPERATOR_IMAGE": "r/o:1", "PD_WORKER_IMAGE": "r/w:1"}
    found = provided.images(Provided(Path("/k"), "PD_KUBECONFIG=/k"), environment, Path("/root"))
    assert found == Images("r/o:1", "r/w:1")
