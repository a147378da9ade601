"""The generated CustomResourceDefinition, installed in a test's API server."""

from pathlib import Path

from tests.support.apiserver import Apiserver

CRD = Path(__file__).parents[2] / "crds" / "pdoperator.io_pddeployments.yaml"
_ESTABLISHED = '--for=jsonpath={.status.conditions[?(@.type=="Established")].status}=True'


def install_crd(server: Apiserver) -> None:
    """Install it and wait until it serves. Again changes nothing."""
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    # By path and not by --for=condition, which fails at once while there are no conditions yet.
    server.kubectl("wait", _ESTABLISHED, "crd/pddeployments.pdoperator.io", "--timeout=30s")
