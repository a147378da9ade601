"""What the spec says the workers should show."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Expectation:
    """One generation of one object, as far as verification compares anything with it."""

    uid: str
    generation: int
    factor: int | None  # None: no rule knows it
    because: str  # the factor's derivation, or why it isn't known
    backend: str
    transport: str  # TCP, RDMA or Auto
    tolerance: Fraction = Fraction(1, 20)
