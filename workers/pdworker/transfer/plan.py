"""The writes that move one request's pages to all its destinations. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from pdworker.kv.pages import runs
from pdworker.transfer.backends.base import Write


@dataclass(frozen=True, slots=True)
class Target:
    """One destination: the engine session to write to, where its layers begin, and which pages are meant."""

    session: str
    layer_addresses: Sequence[int]
    pages: Sequence[int]


def writes(*, layers: Sequence[int], item_bytes: int, pages: Sequence[int], to: Sequence[Target]) -> list[Write]:
    """Every write of a request: layer by layer, in each the destinations in turn, pages coalesced into runs.

    `layers` are the addresses of the sender's layers, `pages` its own pages, one for each page of every target.
    """
    plans = [(target, runs(pages, target.pages)) for target in to]
    return [
        Write(
            session=target.session,
            source=address + run.source * item_bytes,
            target=target.layer_addresses[layer] + run.target * item_bytes,
            length=run.count * item_bytes,
        )
        for layer, address in enumerate(layers)
        for target, pieces in plans
        for run in pieces
    ]
