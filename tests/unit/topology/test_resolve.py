import pytest

from pdoperator.api.enums import Attention, KvCacheDtype
from pdoperator.topology.parallelism import Parallelism
from pdoperator.topology.resolve import Refused, RoleTopology, Topology, resolve, status_of
from pdoperator.topology.traffic import Geometry, MhaGeometry, MlaGeometry, kv_bytes_per_token

V2_LITE = MlaGeometry(layers=27, kv_lora_rank=512, qk_rope_head_dim=64)
R1 = MlaGeometry(layers=61, kv_lora_rank=512, qk_rope_head_dim=64)


def resolved(
    prefill: Parallelism, decode: Parallelism, *, geometry: Geometry = V2_LITE, attention: Attention = Attention.MLA
) -> Topology | Refused:
    return resolve(
        prefill=prefill,
        decode=decode,
        attention=attention,
        geometry=geometry,
        page_size=64,
        dtype=KvCacheDtype.BFLOAT16,
    )


def topology(prefill: Parallelism, decode: Parallelism, *, geometry: Geometry = V2_LITE) -> Topology:
    found = resolved(prefill, decode, geometry=geometry)
    assert isinstance(found, Topology)
    return found


@pytest.mark.case("A-01")
@pytest.mark.parametrize(
    ("geometry", "dtype", "expected"),
    [
        pytest.param(V2_LITE, KvCacheDtype.BFLOAT16, 31_104, id="DeepSeek-V2-Lite"),
        pytest.param(MlaGeometry(60, 512, 64), KvCacheDtype.BFLOAT16, 69_120, id="DeepSeek-V2"),
        pytest.param(R1, KvCacheDtype.FLOAT16, 70_272, id="DeepSeek-R1"),
        pytest.param(MlaGeometry(62, 512, 64), KvCacheDtype.BFLOAT16, 71_424, id="DeepSeek-R1 with a draft layer"),
        pytest.param(V2_LITE, KvCacheDtype.FP8_E4M3, 15_552, id="DeepSeek-V2-Lite in one byte"),
        pytest.param(R1, KvCacheDtype.FP8_E4M3, 35_136, id="DeepSeek-R1 in one byte"),
        pytest.param(MhaGeometry(32, kv_heads=8, head_dim=128), KvCacheDtype.BFLOAT16, 131_072, id="keys and values"),
    ],
)
def test_kv_bytes_per_token(geometry: Geometry, dtype: KvCacheDtype, expected: int) -> None:
    assert kv_bytes_per_token(geometry, dtype) == expected


@pytest.mark.case("A-01")
def test_one_copy_of_a_request_of_4096_tokens_is_274_5_mib() -> None:
    # 61 layers x 576 x 2 bytes; 274.5 x 1,048,576 bytes.
    assert 4096 * topology(Parallelism(4, context=4), Parallelism(4), geometry=R1).kv_bytes_per_token == 287_834_112


@pytest.mark.parametrize(
    ("geometry", "expected"),
    [pytest.param(V2_LITE, 1_990_656, id="DeepSeek-V2-Lite"), pytest.param(R1, 4_497_408, id="DeepSeek-R1")],
)
def test_bytes_of_a_page_of_64_tokens(geometry: Geometry, expected: int) -> None:
    assert topology(Parallelism(4), Parallelism(4), geometry=geometry).page_bytes == expected


@pytest.mark.case("A-02")
@pytest.mark.parametrize(
    ("prefill", "decode", "attention_tensor", "factor"),
    [
        pytest.param(Parallelism(4), Parallelism(2), (4, 2), 1, id="4 and 2"),
        pytest.param(Parallelism(2), Parallelism(4), (2, 4), 2, id="2 and 4"),
        pytest.param(Parallelism(4), Parallelism(4), (4, 4), 1, id="4 and 4"),
        pytest.param(Parallelism(8), Parallelism(1), (8, 1), 1, id="8 and 1"),
    ],
)
def test_status_shows_both_widths_and_a_whole_factor(
    prefill: Parallelism, decode: Parallelism, attention_tensor: tuple[int, int], factor: int
) -> None:
    status = status_of(topology(prefill, decode))
    seen = tuple(status[role]["attentionTensorParallel"] for role in ("prefill", "decode"))
    assert seen == attention_tensor
    assert status["expectedReplicaFactor"] == factor


def test_status_of_the_demo() -> None:
    assert status_of(topology(Parallelism(4, context=4), Parallelism(4))) == {
        "prefill": {
            "attentionTensorParallel": 1,
            "attentionContextParallel": 4,
            "podsPerReplica": 1,
            "gpusPerReplica": 4,
        },
        "decode": {
            "attentionTensorParallel": 4,
            "attentionContextParallel": 1,
            "podsPerReplica": 1,
            "gpusPerReplica": 4,
        },
        "expectedReplicaFactor": 4,
        "derivation": "decode attention TP 4 / prefill attention TP 1 (tensor 4 / context 4) = 4",
        "kvBytesPerToken": 31_104,
    }


def test_an_unknown_factor_is_absent_and_the_derivation_says_why() -> None:
    found = resolved(Parallelism(2), Parallelism(2), attention=Attention.HYBRID_SWA)
    assert isinstance(found, Topology)
    assert found.expected_factor is None
    status = status_of(found)
    assert "expectedReplicaFactor" not in status
    assert status["derivation"] == "no rule is known for attention HybridSWA"


def test_gpus_are_tensor_times_pipeline() -> None:
    found = topology(Parallelism(8, context=2, pipeline=2), Parallelism(4))
    assert found.prefill == RoleTopology(
        attention_tensor_parallel=4, attention_context_parallel=2, pods_per_replica=1, gpus_per_replica=16
    )


@pytest.mark.parametrize(
    ("prefill", "decode", "refused"),
    [
        pytest.param(
            Parallelism(8, context=3), Parallelism(4),
            Refused("spec.prefill.parallelism", "tensor 8 is not a multiple of context 3"), id="context leaves a rest",
        ),
        pytest.param(
            Parallelism(4), Parallelism(8, data=3),
            Refused("spec.decode.parallelism", "tensor 8 is not a multiple of context 1 x data 3"), id="so does data",
        ),
        pytest.param(
            Parallelism(4), Parallelism(3),
            Refused(
                "spec",
                "prefill attention TP 4 and decode attention TP 3 can't be paired: neither is a multiple of the other"
                " (attention TP is tensor / context)",
            ),
            id="a decode rank without a peer",
        ),
        pytest.param(Parallelism(2, context=4), Parallelism(4), Refused(
            "spec.prefill.parallelism", "tensor 2 is not a multiple of context 4"), id="context above tensor"),
    ],
)  # fmt: skip
def test_sizes_that_cannot_run_are_refused_with_both_figures(
    prefill: Parallelism, decode: Parallelism, refused: Refused
) -> None:
    assert resolved(prefill, decode) == refused
