"""A cluster that somebody else runs: PD_KUBECONFIG, or a running kind. Never started or stopped, only used."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdcluster import bases
from pdcluster.images import Images, current

# kind and kubectl answer within seconds or not at all.
COMMAND_TIMEOUT_S = 30.0
# Any other kind cluster is somebody's own, and nothing is installed there unasked.
KIND_NAME = "pd-operator"
DOCKER_BUILD_TIMEOUT_S = 1_800.0


class ProvidedError(RuntimeError):
    """The given cluster can't be used as asked."""


@dataclass(frozen=True, slots=True)
class Provided:
    """A given cluster."""

    kubeconfig: Path
    description: str
    kind: str = ""


def find(environment: Mapping[str, str]) -> Provided | None:
    """Return the cluster to use instead of our own: PD_KUBECONFIG, or a running kind named pd-operator (or PD_KIND)."""
    if path := environment.get("PD_KUBECONFIG"):
        return Provided(Path(path).absolute(), f"PD_KUBECONFIG={path}")
    asked = environment.get("PD_KIND")
    name = asked or KIND_NAME
    if name not in _kind_clusters():
        if asked:
            raise ProvidedError(f"PD_KIND={name!r}: `kind get clusters` does not list it")
        return None
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kubeconfig = cache / "pd-operator" / f"kind-{name}.kubeconfig"
    kubeconfig.parent.mkdir(parents=True, exist_ok=True)
    _run("kind", "export", "kubeconfig", f"--name={name}", f"--kubeconfig={kubeconfig}")
    return Provided(kubeconfig, f"kind {name}", kind=name)


def _kind_clusters() -> list[str]:
    """Return the names of running kind clusters; without kind or Docker there are none."""
    if not shutil.which("kind"):
        return []
    try:
        return _run("kind", "get", "clusters").split()
    except ProvidedError:
        return []


def check(given: Provided) -> None:
    """Refuse a cluster that does not answer."""
    if not given.kubeconfig.is_file():
        raise ProvidedError(f"{given.description}: there is no file {given.kubeconfig}")
    _run("kubectl", f"--kubeconfig={given.kubeconfig}", "get", "--raw=/readyz", "--request-timeout=10s")


def images(given: Provided, environment: Mapping[str, str], root: Path) -> Images:
    """Return the images to use there: kind takes ours, any other cluster must be told by PD_OPERATOR_IMAGE and more."""
    if given.kind:
        return current(root, recipe=bases.recipe())
    operator, worker = environment.get("PD_OPERATOR_IMAGE"), environment.get("PD_WORKER_IMAGE")
    if not (operator and worker):
        raise ProvidedError(f"{given.description}: PD_OPERATOR_IMAGE and PD_WORKER_IMAGE must name images it can pull")
    return Images(operator, worker)


def load(given: Provided, environment: Mapping[str, str], root: Path) -> Images:
    """Build and load into kind; elsewhere the images are pulled."""
    found = images(given, environment, root)
    if given.kind:
        for target, reference in (("operator", found.operator), ("worker", found.worker)):
            _run(
                "docker", "build", f"--target={target}", f"--tag={reference}", str(root), seconds=DOCKER_BUILD_TIMEOUT_S
            )
            _run("kind", "load", "docker-image", f"--name={given.kind}", reference, seconds=DOCKER_BUILD_TIMEOUT_S)
    return found


def _run(*command: str, seconds: float = COMMAND_TIMEOUT_S) -> str:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
    )
    if result.returncode != 0:
        raise ProvidedError(f"{' '.join(command)}: {result.stderr.strip()[-2000:]}")
    return result.stdout
