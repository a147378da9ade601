"""100 PDDeployments without pods: how fast they converge, what that costs, and what rest costs."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pdbench import measure
from pdbench.measure import Measure
from pdbench.operator_process import OperatorProcess, running_operator
from tests.support.apiserver import Apiserver, running_apiserver
from tests.support.crd import install_crd
from tests.support.pddeployments import small

OBJECTS = 100
CONVERGE_SECONDS = 180  # the bar for a thousand is far below; more is a hang
REST_SECONDS = 60


def measures() -> Sequence[Measure]:
    """Seconds to converge, API writes per object, peak memory, and API writes a minute at rest."""
    with running_apiserver(controllers=False) as server, TemporaryDirectory() as folder:
        install_crd(server)
        with running_operator(server.kubeconfig, log=Path(folder) / "operator.log") as operator:
            wait("the operator's page", lambda: _writes(operator) is not None, seconds=60)
            return _figures(server, operator)


def _figures(server: Apiserver, operator: OperatorProcess) -> list[Measure]:
    before = _total(operator)
    start = time.monotonic()
    server.apply(*(small(f"bench-{n:03}") for n in range(OBJECTS)))
    wait("every status", lambda: _converged(server), seconds=CONVERGE_SECONDS)
    seconds = time.monotonic() - start
    time.sleep(5)  # status writes that were on their way
    writes = _total(operator) - before
    at_rest = _total(operator)
    time.sleep(REST_SECONDS)
    return [
        measure.of("scale.100.converge", [seconds], unit="s"),
        measure.of("scale.100.api_writes_per_object", [writes / OBJECTS], unit="writes"),
        measure.of("scale.100.peak_memory", [operator.peak_memory_mib()], unit="MiB"),
        measure.of(
            "scale.100.api_writes_at_rest", [(_total(operator) - at_rest) * 60 / REST_SECONDS], unit="writes/min"
        ),
    ]


def wait(what: str, check: Callable[[], object], *, seconds: float, every: float = 0.1) -> None:
    """Poll until the check holds. Raises TimeoutError naming what was waited for."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)


def _converged(server: Apiserver) -> bool:
    objects: list[dict[str, Any]] = server.get("pdd")["items"]
    routers = server.get("deployments", "-l", "app.kubernetes.io/managed-by=pd-operator")["items"]
    current = [o for o in objects if o.get("status", {}).get("observedGeneration") == o["metadata"]["generation"]]
    return len(current) == len(routers) == OBJECTS


def _writes(operator: OperatorProcess) -> dict[str, float] | None:
    try:
        return operator.api_writes()
    except OSError:
        return None


def _total(operator: OperatorProcess) -> float:
    return sum(operator.api_writes().values())
