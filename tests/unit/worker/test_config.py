"""The environment of the contract, and what is said when it is wrong."""

import pytest

from pdworker.config import Config, ConfigError, Geometry, Role, Transport, read
from pdworker.topology import Group

GIVEN = {
    "POD_IP": "10.244.1.7",
    "PD_ROLE": "prefill",
    "PD_DEPLOYMENT": "v2-lite",
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
}


def told(**changed: str) -> Config:
    return read(GIVEN | changed)


def test_the_contracts_environment_is_read() -> None:
    config = told()
    assert (config.role, config.pod_ip, config.model) == (Role.PREFILL, "10.244.1.7", "deepseek-ai/DeepSeek-V2-Lite")
    assert config.geometry == Geometry(layers=27, width=576, dtype="bfloat16", page_size=64)
    assert config.group == Group(4, context=4)
    assert (config.transport, config.expected_factor, config.legacy_accounting) == (Transport.TCP, 4, False)
    assert (config.http_port, config.bootstrap_port, config.rank_port_base) == (30000, 8998, 16000)
    assert (config.bootstrap_timeout_s, config.waiting_timeout_s) == (300, 300)


def test_a_factor_that_was_not_told_is_unknown_not_one() -> None:
    assert (
        read({name: value for name, value in GIVEN.items() if name != "PD_EXPECTED_REPLICA_FACTOR"}).expected_factor
        is None
    )


@pytest.mark.parametrize(
    ("dtype", "item_bytes", "page_bytes"),
    [
        pytest.param("bfloat16", 73_728, 1_990_656, id="V2-Lite in bfloat16, as in the engines' table"),
        pytest.param("float16", 73_728, 1_990_656, id="float16 is as wide"),
        pytest.param("fp8_e4m3", 36_864, 995_328, id="fp8 is half"),
    ],
)
def test_page_bytes(dtype: str, item_bytes: int, page_bytes: int) -> None:
    geometry = told(PD_KV_CACHE_DTYPE=dtype).geometry
    assert (geometry.item_bytes, geometry.page_bytes) == (item_bytes, page_bytes)


@pytest.mark.parametrize(("tokens", "pages"), [(1, 1), (64, 1), (65, 2), (4096, 64)])
def test_the_last_page_is_moved_whole(tokens: int, pages: int) -> None:
    assert told().geometry.pages(tokens) == pages


@pytest.mark.case("B-15")
@pytest.mark.parametrize("address", ["10.244.1.7", "fd00::7", "192.168.4.2"])
def test_the_advertised_address_is_the_pods(address: str) -> None:
    assert told(POD_IP=address).pod_ip == address


@pytest.mark.case("B-15")
@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "::", "127.0.0.1", "127.8.9.1", "::1", "localhost", "169.254.3.4", "fe80::1", "", "pod.example"],  # noqa: S104 -- refused
)
def test_b_15_an_address_that_others_cannot_reach_is_refused_by_name(address: str) -> None:
    with pytest.raises(ConfigError, match=r"POD_IP=.*must come from status\.podIP") as refused:
        told(POD_IP=address)
    assert address in str(refused.value)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [("127.0.0.2", True), ("0.0.0.0", False), ("169.254.3.4", False)],  # noqa: S104 -- refused
)
def test_the_test_switch_allows_loopback_and_no_more(address: str, allowed: bool) -> None:  # noqa: FBT001 -- a table's column
    if allowed:
        assert told(POD_IP=address, PD_ALLOW_LOOPBACK="1").pod_ip == address
    else:
        with pytest.raises(ConfigError):
            told(POD_IP=address, PD_ALLOW_LOOPBACK="1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("PD_ROLE", "router", id="a router isn't served"),
        pytest.param("PD_ATTENTION", "MHA", id="attention other than MLA"),
        pytest.param("PD_BACKEND", "NIXL", id="a backend that isn't built"),
        pytest.param("PD_TRANSPORT", "tcp", id="transport in the wrong case"),
        pytest.param("PD_KV_CACHE_DTYPE", "int4", id="an unknown dtype"),
        pytest.param("PD_LAYERS", "0", id="no layers"),
        pytest.param("PD_LAYERS", "-1", id="negative layers"),
        pytest.param("PD_PAGE_SIZE", "64.0", id="a float"),
        pytest.param("PD_TENSOR", "", id="an empty integer"),
        pytest.param("PD_EXPECTED_REPLICA_FACTOR", "1/4", id="a fraction as factor"),
        pytest.param("PD_TENSOR", "\u0664", id="a digit of another script"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_itself(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        told(**{name: value})
    assert name in str(refused.value)
    assert value in str(refused.value)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [({}, 30), ({"MC_TRANSFER_TIMEOUT": "10"}, 10), ({"MC_TRANSFER_TIMEOUT": "60"}, 60)],
)
def test_the_engines_deadline_is_the_users_or_the_engines_own(given: dict[str, str], seconds: int) -> None:
    assert told(**given).engine_timeout_s == seconds


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(ConfigError, match="PD_LAYERS is not set"):
        read({name: value for name, value in GIVEN.items() if name != "PD_LAYERS"})


def test_a_context_that_does_not_divide_is_refused_with_both() -> None:
    with pytest.raises(ConfigError, match="PD_TENSOR=4 is not a multiple of PD_CONTEXT=3"):
        told(PD_CONTEXT="3")
