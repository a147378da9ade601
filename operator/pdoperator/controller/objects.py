"""The state of every PDDeployment as metrics, read from a table in memory: what is deleted leaves no stale series."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pdoperator.live.state import Key

_STATUSES = ("True", "False", "Unknown")


@dataclass(slots=True, eq=False)  # a registry keys its collectors by identity
class Objects(Collector):
    """The last status of each PDDeployment, as it was computed."""

    _statuses: dict[Key, Mapping[str, Any]] = field(default_factory=dict)

    def set(self, key: Key, status: Mapping[str, Any]) -> None:
        """The PDDeployment's status is this."""
        self._statuses[key] = status

    def forget(self, key: Key) -> None:
        """The PDDeployment is gone."""
        self._statuses.pop(key, None)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every PDDeployment in the table."""
        return tuple(self._statuses)

    def collect(self) -> Iterable[Metric]:
        """Called by the registry at every scrape."""
        names = ("namespace", "name")
        expected = GaugeMetricFamily(
            "pd_expected_replica_factor", "Copies of a request's KV that the declared topology asks for", labels=names
        )
        observed = GaugeMetricFamily(
            "pd_observed_replica_factor", "Copies that the workers' metrics account for", labels=names
        )
        condition = GaugeMetricFamily(
            "pd_condition", "1 for the status that the condition has", labels=(*names, "type", "status")
        )
        for key, status in sorted(self._statuses.items(), key=lambda item: (item[0].namespace, item[0].name)):
            labels = (key.namespace, key.name)
            _add(expected, labels, (status.get("topology") or {}).get("expectedReplicaFactor"))
            _add(observed, labels, (status.get("observed") or {}).get("replicaFactor"))
            for each in status.get("conditions") or ():
                for value in _STATUSES:
                    condition.add_metric((*labels, each["type"], value), float(each["status"] == value))
        return (expected, observed, condition)


def _add(family: GaugeMetricFamily, labels: tuple[str, ...], value: object) -> None:
    """A figure that isn't known has no series: absent isn't zero."""
    with contextlib.suppress(ValueError, TypeError):  # None, "", or words
        family.add_metric(labels, float(value))  # type: ignore[arg-type]
