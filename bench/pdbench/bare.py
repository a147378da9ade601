"""What the machine and the engine do without the worker: the sides that the payload ratios stand on."""

import json
import subprocess
import time
from collections.abc import Sequence

import numpy as np
from mooncake.engine import TransferEngine

from pdbench.receivers import Receiver

POLL_SECONDS = 0.0003  # the engine's spinning calls take a core from its only I/O thread
IPERF_PORT = 15999
IPERF_SECONDS = 2
MEMCPY_BYTES = 256 << 20  # beyond every cache


def submit_and_poll(
    engine: TransferEngine, sources: Sequence[int], receivers: Sequence[Receiver], *, layer_bytes: int
) -> float:
    """Bytes a second of one whole-layer write to every receiver, interleaved from one thread."""
    start = time.perf_counter()
    pending = [
        engine.transfer_submit_write(receiver.session, source, receiver.addresses[layer], layer_bytes)
        for layer, source in enumerate(sources)
        for receiver in receivers
    ]
    if 0 in pending:
        raise RuntimeError("a submit failed")
    for batch in pending:
        while (state := engine.transfer_check_status(batch)) == 0:
            time.sleep(POLL_SECONDS)
        if state != 1:
            raise RuntimeError(f"a write failed with {state}")
    return len(pending) * layer_bytes / (time.perf_counter() - start)


def memcpy() -> float:
    """Bytes a second of a large copy in memory."""
    source = np.ones(MEMCPY_BYTES, np.uint8)
    target = np.zeros_like(source) + source  # touched once: page faults aren't copying
    start = time.perf_counter()
    np.copyto(target, source)
    return MEMCPY_BYTES / (time.perf_counter() - start)


def iperf3() -> float:
    """Bytes a second of one iperf3 stream over loopback."""
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", str(IPERF_PORT)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _wait_until_listening(server)
        command = ["iperf3", "-c", "127.0.0.1", "-p", str(IPERF_PORT), "-t", str(IPERF_SECONDS), "-J"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=IPERF_SECONDS + 10, check=True)
    finally:
        server.kill()
        server.wait(timeout=10)
    received: float = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    return received / 8


def _wait_until_listening(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None  # noqa: S101 -- a pipe was asked for
    for line in server.stdout:
        if "listening" in line:
            return
    raise RuntimeError("iperf3 did not start to listen")
