"""Receiving ends for the payload benchmark: each a process with one registered buffer a layer, as a decode rank has."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from mooncake.engine import TransferEngine
from numpy.typing import NDArray

HOST = "127.0.0.1"
START_SECONDS = 60  # a fresh interpreter, numpy and the engine, four times on two cores


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where one destination's layers lie."""

    session: str
    addresses: tuple[int, ...]


def engine() -> TransferEngine:
    """An engine of this process, over TCP on loopback."""
    started = TransferEngine()
    if started.initialize(HOST, "P2PHANDSHAKE", "tcp", "") != 0:
        raise RuntimeError("the transfer engine did not start")
    return started


def register(started: TransferEngine, *, layers: int, layer_bytes: int) -> list[NDArray[np.uint8]]:
    """One registered buffer a layer."""
    buffers = [np.ones(layer_bytes, np.uint8) for _ in range(layers)]
    for buffer in buffers:
        if started.register_memory(buffer.ctypes.data, buffer.nbytes) != 0:
            raise RuntimeError(f"{buffer.nbytes} bytes could not be registered")
    return buffers


@contextmanager
def running_receivers(count: int, *, layers: int, layer_bytes: int) -> Iterator[list[Receiver]]:
    """Start the receivers, and end them whatever happens."""
    spawn = multiprocessing.get_context("spawn")
    started = []
    try:
        for _ in range(count):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_receive, args=(theirs, layers, layer_bytes), daemon=True)
            process.start()
            started.append((process, ours))
        receivers = []
        for _, pipe in started:
            if not pipe.poll(START_SECONDS):
                raise TimeoutError(f"a receiver did not start within {START_SECONDS} s")
            receivers.append(Receiver(*pipe.recv()))
        yield receivers
    finally:
        for process, _ in started:
            process.kill()
            process.join(timeout=10)


def _receive(pipe: Connection, layers: int, layer_bytes: int) -> None:
    started = engine()
    buffers = register(started, layers=layers, layer_bytes=layer_bytes)
    session = f"{HOST}:{started.get_rpc_port()}"
    pipe.send((session, tuple(buffer.ctypes.data for buffer in buffers)))
    pipe.recv()  # never comes: the parent ends this process
