from prometheus_client import CollectorRegistry

from pdoperator.controller.objects import Objects
from pdoperator.live.state import Key

V2 = Key("ns", "v2")


def a_registry(objects: Objects) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(objects)
    return registry


def test_a_status_becomes_figures_and_one_series_per_condition_and_answer() -> None:
    objects = Objects()
    registry = a_registry(objects)
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"topology": {"expectedReplicaFactor": 4}, "observed": {"replicaFactor": "1"}, "conditions": conditions}
    objects.set(V2, status)
    labels = {"namespace": "ns", "name": "v2"}
    assert registry.get_sample_value("pd_expected_replica_factor", labels) == 4
    assert registry.get_sample_value("pd_observed_replica_factor", labels) == 1
    answers = [
        registry.get_sample_value("pd_condition", {**labels, "type": "Ready", "status": each})
        for each in ("True", "False", "Unknown")
    ]
    assert answers == [1, 0, 0]


def test_what_is_not_known_has_no_series() -> None:
    objects = Objects()
    registry = a_registry(objects)
    objects.set(V2, {"topology": {}, "observed": {"replicaFactor": ""}, "conditions": []})
    assert [sample for metric in registry.collect() for sample in metric.samples] == []


def test_what_is_deleted_leaves_no_series() -> None:
    objects = Objects()
    registry = a_registry(objects)
    objects.set(V2, {"topology": {"expectedReplicaFactor": 4}})
    objects.forget(V2)
    objects.forget(V2)
    assert [sample for metric in registry.collect() for sample in metric.samples] == []
    assert objects.keys == ()
