from typing import Any

import pytest

from tests.support.builders import a_pddeployment, changed, environment, manifests, sizes

PREFILL, DECODE, ROUTER = "StatefulSet/v2-lite-prefill", "StatefulSet/v2-lite-decode", "Deployment/v2-lite-router"


def env(obj: dict[str, Any], workload: str = PREFILL) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = manifests(obj)[workload]["spec"]["template"]["spec"]["containers"][0]["env"]
    return found


def names(variables: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in variables]


@pytest.mark.case("A-01")
@pytest.mark.case("A-02")
@pytest.mark.parametrize(
    ("prefill", "decode", "factor"),
    [
        pytest.param(sizes(4, context=4), sizes(4), "4", id="context 4 to tensor 4"),
        pytest.param(sizes(8, context=8), sizes(8), "8", id="context 8 to tensor 8"),
        pytest.param(sizes(4), sizes(2), "1", id="narrower decode"),
        pytest.param(sizes(2), sizes(4), "2", id="wider decode"),
        pytest.param(sizes(4), sizes(4), "1", id="equal"),
        pytest.param(sizes(8), sizes(1), "1", id="one decode rank"),
    ],
)
def test_every_worker_is_told_the_expected_factor(prefill: dict[str, Any], decode: dict[str, Any], factor: str) -> None:
    found = manifests(a_pddeployment(prefill=prefill, decode=decode))
    assert environment(found[PREFILL])["PD_EXPECTED_REPLICA_FACTOR"] == factor
    assert environment(found[DECODE])["PD_EXPECTED_REPLICA_FACTOR"] == factor
    assert "PD_EXPECTED_REPLICA_FACTOR" not in environment(found[ROUTER])


def test_the_whole_environment_of_a_prefill_worker() -> None:
    assert environment(manifests(a_pddeployment())[PREFILL]) == {
        "PD_ROLE": "prefill",
        "PD_DEPLOYMENT": "v2-lite",
        "PD_HTTP_PORT": "30000",
        "PD_BOOTSTRAP_PORT": "8998",
        "PD_MODEL_NAME": "deepseek-ai/DeepSeek-V2-Lite",
        "PD_ATTENTION": "MLA",
        "PD_LAYERS": "27",
        "PD_KV_LORA_RANK": "512",
        "PD_QK_ROPE_HEAD_DIM": "64",
        "PD_KV_CACHE_DTYPE": "bfloat16",
        "PD_PAGE_SIZE": "64",
        "PD_TENSOR": "4",
        "PD_CONTEXT": "4",
        "PD_BACKEND": "Mooncake",
        "PD_TRANSPORT": "TCP",
        "PD_EXPECTED_REPLICA_FACTOR": "4",
        "MC_MIN_RPC_PORT": "15000",
        "MC_MAX_RPC_PORT": "15127",
        "MC_TCP_PROGRESS_TIMEOUT_SEC": "3",
        "MC_TRANSFER_TIMEOUT": "10",
        "MC_HANDSHAKE_CONNECT_TIMEOUT": "2",
        "MC_TCP_MAX_QUEUED_TRANSFERS_PER_PEER": "65535",
        "MC_LOG_LEVEL": "WARNING",
    }


def test_decode_has_its_own_role_and_sizes() -> None:
    found = environment(manifests(a_pddeployment(decode=sizes(8)))[DECODE])
    assert (found["PD_ROLE"], found["PD_TENSOR"], found["PD_CONTEXT"]) == ("decode", "8", "1")


def test_the_router_is_told_where_the_workers_are_and_nothing_of_the_model() -> None:
    assert environment(manifests(a_pddeployment())[ROUTER]) == {
        "PD_ROLE": "router",
        "PD_DEPLOYMENT": "v2-lite",
        "PD_HTTP_PORT": "30000",
        "PD_BOOTSTRAP_PORT": "8998",
        "PD_PREFILL_SERVICE": "v2-lite-prefill.models.svc",
        "PD_DECODE_SERVICE": "v2-lite-decode.models.svc",
    }


@pytest.mark.case("B-15")
@pytest.mark.parametrize("workload", [PREFILL, DECODE, ROUTER])
def test_a_pod_advertises_the_address_it_was_given_and_no_literal(workload: str) -> None:
    by_name = {each["name"]: each for each in env(a_pddeployment(), workload)}
    assert by_name["POD_IP"] == {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert by_name["POD_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert by_name["POD_NAMESPACE"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"


@pytest.mark.case("E-15")
def test_the_users_variables_come_last_in_their_order_so_that_references_expand() -> None:
    users = [
        {"name": "B", "value": "first"},
        {"name": "C", "value": "second"},
        {"name": "A", "value": "$(B).$(C)"},
    ]
    assert env(a_pddeployment(engine={"env": users}))[-3:] == users


@pytest.mark.case("E-15")
def test_the_users_tuning_wins_and_is_there_once() -> None:
    users = [{"name": "MC_GID_INDEX", "value": "5"}, {"name": "MC_LOG_LEVEL", "value": "INFO"}]
    users += [{"name": "UCX_TLS", "value": "rc"}, {"name": "UCX_NET_DEVICES"}]
    found = env(a_pddeployment(engine={"env": users}))
    assert found[-4:] == [*users[:3], {"name": "UCX_NET_DEVICES", "value": ""}]
    assert names(found).count("MC_LOG_LEVEL") == 1
    assert len(names(found)) == len(set(names(found)))


def test_the_router_has_none_of_the_engines_environment() -> None:
    users = [{"name": "MC_LOG_LEVEL", "value": "INFO"}]
    assert "MC_LOG_LEVEL" not in names(env(a_pddeployment(engine={"env": users}), ROUTER))


@pytest.mark.case("E-01")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("meta-llama/Llama-3.2-3B-Instruct", "meta-llama/Llama-3.2-3B-Instruct", id="a slash"),
        pytest.param("a-$(POD_IP)-b", "a-$$(POD_IP)-b", id="a reference is text"),
    ],
)
def test_the_model_name_arrives_as_given(name: str, value: str) -> None:
    found = manifests(changed(a_pddeployment(), "spec.model.name", name))
    assert environment(found[PREFILL])["PD_MODEL_NAME"] == value
