"""How one replica is spread over ranks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The sizes of one role as declared. `tensor` is the whole tensor-parallel group, as engines count it."""

    tensor: int
    context: int = 1
    data: int = 1
    pipeline: int = 1

    @property
    def exact(self) -> bool:
        """Whether context and data parallelism divide the tensor-parallel group without a rest."""
        return self.tensor % (self.context * self.data) == 0

    @property
    def attention_tensor(self) -> int:
        """Ranks that share one attention computation."""
        return self.tensor // (self.context * self.data)

    @property
    def ranks(self) -> int:
        """Ranks of one replica, each a process on a GPU of its own."""
        return self.tensor * self.pipeline

    def attention_in_words(self) -> str:
        """The attention TP with the division it comes from."""
        divisors = [f" / {name} {size}" for name, size in (("context", self.context), ("data", self.data)) if size > 1]
        if not divisors:
            return f"attention TP {self.attention_tensor}"
        return f"attention TP {self.attention_tensor} (tensor {self.tensor}{''.join(divisors)})"


def can_pair(one: Parallelism, other: Parallelism) -> bool:
    """Whether every rank finds its peer: engines pair ranks by whole division, so one width must divide the other."""
    wide, narrow = sorted((one.attention_tensor, other.attention_tensor), reverse=True)
    return wide % narrow == 0
