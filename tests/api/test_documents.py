"""Every PDDeployment written out in the documentation is one that the API server takes."""

import re
from pathlib import Path

import pytest

from tests.support.apiserver import Apiserver
from tests.support.crd import install_crd

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
MANIFESTS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)} {number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL), start=1)
    if "\nkind: PDDeployment\n" in block
]


@pytest.fixture(scope="module")
def server(apiserver: Apiserver) -> Apiserver:
    install_crd(apiserver)
    return apiserver


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_documented_pddeployment_is_accepted_strictly(server: Apiserver, manifest: str) -> None:
    applied = server.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=manifest)
    assert applied.stdout.endswith("created (server dry run)\n")
    assert applied.stderr == ""


def test_readme_shows_a_pddeployment() -> None:
    assert any(str(manifest.id).startswith("README.md") for manifest in MANIFESTS)
