"""How often something was evaluated."""

from dataclasses import dataclass


@dataclass
class Count:
    """A number that objectives of one search share and add to."""

    number: int = 0

    def add(self, times: int = 1) -> None:
        self.number += times
