"""The transparent wrapper: a manifold that is another one, except in the members it overrides."""

from ..contract import Manifold, forwarded


class Wrapper(Manifold):
    """A manifold made of another one, `base`, whose members it has unless it overrides them.

    Every public member of `Manifold` is forwarded to `base`: the required ones here, all others in the loop below. So
    a wrapper defines what it changes and forgets nothing. `within` follows from the wrapper's own distance.
    """

    base: Manifold
    """The wrapped manifold."""
    shape = forwarded("base.shape")
    dim = forwarded("base.dim")
    noise = forwarded("base.noise")
    exp = forwarded("base.exp")
    random = forwarded("base.random")
    defect = forwarded("base.defect")
    within = Manifold.within


for _name in {name for name in vars(Manifold) if not name.startswith("_")} - set(vars(Wrapper)):
    setattr(Wrapper, _name, forwarded(f"base.{_name}"))
