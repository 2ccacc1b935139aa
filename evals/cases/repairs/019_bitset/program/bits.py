"""Sets of small numbers in one integer."""

from collections.abc import Iterable, Iterator


class Bits:
    """A set of numbers from 0 on; number n is the bit of value 2**n."""

    def __init__(self, members: Iterable[int] = (), *, mask: int = 0) -> None:
        self.mask = mask
        for member in members:
            self.add(member)

    def add(self, member: int) -> None:
        self.mask |= 1 << member

    def discard(self, member: int) -> None:
        self.mask &= ~1 << member

    def __contains__(self, member: int) -> bool:
        return bool(self.mask >> member & 1)

    def __iter__(self) -> Iterator[int]:
        return (n for n in range(self.mask.bit_length()) if n in self)

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __or__(self, other: "Bits") -> "Bits":
        return Bits(mask=self.mask | other.mask)

    def __sub__(self, other: "Bits") -> "Bits":
        left = Bits(mask=self.mask)
        for member in other:
            left.discard(member)
        return left
