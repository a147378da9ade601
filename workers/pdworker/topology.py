"""Who sends to whom: pure integers. The rules are those engines follow for MLA (one latent KV copy for every rank)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """One role's tensor-parallel group. `tensor` is the whole group, as engines count it."""

    tensor: int
    context: int = 1

    @property
    def attention_tensor(self) -> int:
        """Ranks that share one part of the sequence: tensor / context, exact."""
        return self.tensor // self.context

    def context_rank(self, rank: int) -> int:
        """The context-parallel rank of a rank; tensor runs fastest in the order of ranks."""
        return rank // self.attention_tensor % self.context

    def attention_rank(self, rank: int) -> int:
        """The attention tensor-parallel rank of a rank."""
        return rank % self.attention_tensor

    def sends(self, rank: int) -> bool:
        """Whether this rank of prefill sends: context rank 0 sends all pages, the others none."""
        return self.context_rank(rank) == 0


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one decode rank gets its KV from."""

    real: int  # the prefill rank that sends to it
    dummies: tuple[int, ...]  # ranks that must hear of the room, and send nothing
    required_destinations: int  # how many decode ranks the real one sends to: the replica factor


def sources_of(decode_rank: int, *, prefill: Group, decode: Group) -> Sources:
    """The sources of a decode rank.

    Decode wider than prefill: each prefill rank replicates to decode / prefill ranks. Narrower: each decode rank takes
    the first of its prefill / decode candidates; the others are dummies, because each holds the same latent KV.

    Raises ValueError when neither width divides the other: no engine has a mapping for that.
    """
    wide, narrow = decode.attention_tensor, prefill.attention_tensor
    rank = decode.attention_rank(decode_rank)
    if wide % narrow == 0:
        return Sources(real=rank // (wide // narrow), dummies=(), required_destinations=wide // narrow)
    if narrow % wide == 0:
        share = narrow // wide
        first = rank * share
        return Sources(real=first, dummies=tuple(range(first + 1, first + share)), required_destinations=1)
    raise ValueError(f"decode attention TP {wide} and prefill attention TP {narrow}: neither divides the other")
