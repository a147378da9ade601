"""The generated CustomResourceDefinition, installed in a test's API server."""

from pathlib import Path

from pdcluster.health import wait_until
from tests.support.apiserver import Apiserver

CRD = Path(__file__).parents[2] / "crds" / "pdoperator.io_pddeployments.yaml"
SERVED = "/apis/pdoperator.io/v1alpha1"
SERVED_SECONDS = 60.0  # a second when idle


def install_crd(server: Apiserver) -> None:
    """Install it and wait until it serves. Again changes nothing."""
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    # Not `kubectl wait`: it fails at once while there are no conditions yet.
    if not wait_until(lambda: server.api.read(SERVED) is not None, seconds=SERVED_SECONDS):
        raise AssertionError(f"{SERVED} isn't served after {SERVED_SECONDS:.0f} s")
