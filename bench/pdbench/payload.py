"""The worker's payload rate at fan-out 4, against what the engine and the machine can do, in interleaved rounds."""

from collections.abc import Callable, Sequence
from itertools import permutations

from pdbench import bare, measure
from pdbench.measure import Measure
from pdbench.receivers import HOST, Receiver, running_receivers
from pdworker.config import Geometry
from pdworker.kv.pool import Pool
from pdworker.transfer.backends.base import Write
from pdworker.transfer.backends.mooncake import MooncakeEngine
from pdworker.transfer.plan import Target, writes

FAN_OUT = 4
TOKENS = 4096
# Every order of the four sides, once: none of them always follows the same other.
ORDERS = tuple(permutations(range(4)))
# DeepSeek-V2-Lite: 27 layers, 512 + 64 wide.
GEOMETRY = Geometry(layers=27, width=576, dtype="bfloat16", page_size=64)


def measures() -> Sequence[Measure]:
    """GB/s of the worker's own write, and its ratios to the bare engine, to iperf3 and to memcpy."""
    pages = GEOMETRY.pages(TOKENS)
    pool = Pool(GEOMETRY, pages=pages)
    pool.fill(1, range(pages))
    layer_bytes = pool.layer_bytes()
    with running_receivers(FAN_OUT, layers=GEOMETRY.layers, layer_bytes=layer_bytes) as receivers:
        ours = MooncakeEngine(HOST, protocol="tcp")
        for address in pool.addresses():
            ours.register(address, layer_bytes)
        plan = _plan(pool, receivers)
        sides: tuple[Callable[[], float], ...] = (
            lambda: sum(write.length for write in plan) / ours.write(plan),
            lambda: bare.submit_and_poll(ours.engine, pool.addresses(), receivers, layer_bytes=layer_bytes),
            bare.iperf3,
            bare.memcpy,
        )
        for side in sides:
            side()  # connections are made, buffers touched
        rounds = [_round(sides, order) for order in ORDERS]
    worker, bare_loop, iperf, memcpy = (list(rates) for rates in zip(*rounds, strict=True))
    return [
        measure.of("payload.rate", worker, unit="GB/s"),
        measure.ratio("payload.vs_bare_submit_and_poll", worker, bare_loop),
        measure.ratio("payload.vs_iperf3_one_stream", worker, iperf),
        measure.ratio("payload.vs_memcpy", worker, memcpy),
    ]


def _round(sides: Sequence[Callable[[], float]], order: Sequence[int]) -> list[float]:
    """Every side's rate in GB/s, one after another in this order."""
    rates = {at: sides[at]() / 1e9 for at in order}
    return [rates[at] for at in range(len(sides))]


def _plan(pool: Pool, receivers: Sequence[Receiver]) -> list[Write]:
    """The writes of one request, as the sender plans them."""
    pages = range(pool.pages)
    to = [Target(receiver.session, receiver.addresses, pages) for receiver in receivers]
    return writes(layers=pool.addresses(), item_bytes=GEOMETRY.item_bytes, pages=pages, to=to)
