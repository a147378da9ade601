"""The operator and the worker share no code: this holds both to docs/reference/worker-contract.md."""

import re
from pathlib import Path

import pytest

from pdoperator.api.parse import parse
from pdoperator.api.rules.pddeployment import FREE_ENV
from pdoperator.plan import ports
from pdoperator.plan.environment import router_environment, worker_environment
from pdoperator.plan.names import Owner
from pdoperator.plan.topology import topology_of
from pdoperator.topology.role import Role
from tests.support.builders import a_pddeployment, manifests

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "worker-contract.md").read_text()
WORKER = "\n".join(path.read_text() for path in sorted((ROOT / "workers" / "pdworker").rglob("*.py")))
OPERATOR = "\n".join(path.read_text() for path in sorted((ROOT / "operator" / "pdoperator").rglob("*.py")))
OWNER = Owner(namespace="models", name="v2-lite", uid="u")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def told(role: Role) -> list[tuple[str, str]]:
    """Name and literal value of every variable that the page gives a role, in its order."""
    found = []
    for names, values, where in rows("Environment"):
        if where == "all" or str(role) in where:
            literals = re.findall(r"`([^`]+)`", values)
            keys = re.findall(r"`([A-Z_]+)`", names)
            found += list(zip(keys, literals if len(literals) == len(keys) else [""] * len(keys), strict=True))
    return found


def given(role: Role) -> list[tuple[str, str]]:
    spec = parse(a_pddeployment())
    if role is Role.ROUTER:
        env = router_environment(OWNER)
    else:
        env = worker_environment(owner=OWNER, role=role, spec=spec, topology=topology_of(spec))
    return [(each["name"], each.get("value", "")) for each in env]


@pytest.mark.parametrize("role", list(Role))
def test_the_operator_sets_what_the_page_lists_in_its_order(role: Role) -> None:
    assert [name for name, _ in given(role)] == [name for name, _ in told(role)]


@pytest.mark.parametrize("role", list(Role))
def test_the_operator_sets_the_values_that_the_page_fixes(role: Role) -> None:
    fixed = {name: value for name, value in told(role) if name.startswith("MC_") or name.endswith("_PORT")}
    assert {name: value for name, value in given(role) if name in fixed} == fixed


def test_the_ports_are_those_of_the_page() -> None:
    table = {name.strip("`"): number for number, name, *_ in rows("Ports")}
    listed = {name: [int(port) for port in re.findall("[0-9]+", number)] for name, number in table.items()}
    assert listed == {
        "http": [ports.HTTP],
        "bootstrap": [ports.BOOTSTRAP],
        "ranks": [ports.RANKS_FIRST, ports.RANKS_LAST],
        "engine": [ports.ENGINE_FIRST, ports.ENGINE_LAST],
    }


def test_every_probe_asks_a_route_of_the_page() -> None:
    routes = PAGE.partition("\n## HTTP on")[2].partition("\n## ")[0]
    for manifest in manifests(a_pddeployment()).values():
        for container in manifest.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert f"`GET {container[probe]['httpGet']['path']}`" in routes


def test_the_worker_reads_every_variable_of_the_page_and_no_other_of_that_kind() -> None:
    listed = {name for role in Role for name, _ in told(role) if not name.startswith("MC_")}
    # The two that say where a worker is need not be read by it.
    assert listed - names(WORKER, "PD|POD") <= {"POD_NAMESPACE", "PD_DEPLOYMENT"}
    settings = {row[0].strip("`") for row in rows("Settings of the worker")}
    assert names(WORKER, "PD|POD") - listed == settings


def test_the_user_may_set_the_workers_settings_but_for_those_of_tests() -> None:
    settings = [row[0].strip("`") for row in rows("Settings of the worker")]
    assert sorted(FREE_ENV) == sorted(settings[:-2])


def test_the_worker_exports_every_metric_of_the_page_and_no_other_of_that_kind() -> None:
    listed = {row[0].strip("`") for row in rows("Metrics")}
    assert {without_total(name) for name in metrics(WORKER)} == {without_total(name) for name in listed}


def test_the_operator_reads_no_metric_that_is_not_on_the_page() -> None:
    listed = {row[0].strip("`") for row in rows("Metrics")}
    own = {name for name in metrics(OPERATOR) if name.startswith("pd_operator_")}
    parts = {f"{name}_{part}" for name in listed for part in ("sum", "count", "bucket")}
    assert metrics(OPERATOR) - own <= listed | parts


def names(source: str, prefixes: str) -> set[str]:
    return set(re.findall(rf'"((?:{prefixes})_[A-Z_]+)"', source))


def metrics(source: str) -> set[str]:
    return set(re.findall(r'"((?:pd_(?:kv|expected|resolved|transport|operator)|kv_transfer)_[a-z_]+)"', source))


def without_total(name: str) -> str:
    """Client libraries put `_total` after a counter's name, so sources may leave it out."""
    return name.removesuffix("_total")
