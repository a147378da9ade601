"""The replica factor: how many full copies of the KV one prefill sender writes."""

from dataclasses import dataclass

from pdoperator.api.enums import Attention
from pdoperator.topology.parallelism import Parallelism


@dataclass(frozen=True, slots=True)
class Factor:
    """A known factor and how it comes about."""

    value: int
    because: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """No factor, and why: a rule that isn't known is never guessed."""

    because: str


def replica_factor(*, prefill: Parallelism, decode: Parallelism, attention: Attention) -> Factor | Unknown:
    """The factor of a pair that can be paired.

    An MLA latent can't be split over ranks: every decode rank needs all of it, so where decode is wider each sender
    serves several. Heads can be split: there every destination gets a part of its own.
    """
    match attention:
        case Attention.MLA:
            return _mla(prefill, decode)
        case Attention.MHA:
            return Factor(1, "attention heads are shared out: every decode rank gets its own part, once")
        case Attention.HYBRID_MLA | Attention.HYBRID_SWA:
            return Unknown(f"no rule is known for attention {attention}")


def senders(*, prefill: Parallelism, decode: Parallelism, attention: Attention) -> tuple[int, ...]:
    """The prefill ranks that send, by rank in the tensor-parallel group of one replica.

    Ranks count attention TP fastest, then context groups. Only the first context group sends. Where prefill is wider
    than decode, an MLA latent is the same on several prefill ranks, and only the first of each such group sends it.
    """
    width = prefill.attention_tensor
    if attention is Attention.MHA:
        return tuple(range(width))
    return tuple(range(0, width, max(1, width // decode.attention_tensor)))


def _mla(prefill: Parallelism, decode: Parallelism) -> Factor:
    there, here = f"decode {decode.attention_in_words()}", f"prefill {prefill.attention_in_words()}"
    if decode.attention_tensor > prefill.attention_tensor:
        value = decode.attention_tensor // prefill.attention_tensor
        return Factor(value, f"{there} / {here} = {value}")
    return Factor(1, f"{there} is not wider than {here}: one copy")
