"""In which order packages are built."""

from collections.abc import Collection, Mapping

Needs = Mapping[str, Collection[str]]
"""Package -> the packages that it needs."""


class CircleError(ValueError):
    """Packages need each other in a circle; `packages` names those that cannot be built."""

    def __init__(self, packages: list[str]) -> None:
        super().__init__(f"cannot be built: {', '.join(packages)}")
        self.packages = packages


def build_order(needs: Needs) -> list[str]:
    """Every package after all that it needs; where there is a choice, by name.

    Raises:
        CircleError: some can never be built.
    """
    left = {package: set(needed) for package, needed in needs.items()}
    for needed in needs.values():
        for package in needed:
            left.setdefault(package, set())
    order: list[str] = []
    while ready := sorted(package for package, needed in left.items() if not needed):
        package = ready[0]
        order.append(package)
        del left[package]
        for needed in left.values():
            needed.discard(package)
    return order


def needed_by(needs: Needs, package: str) -> list[str]:
    """What has to be built before a package, and the package itself."""
    wanted, waiting = {package}, [package]
    while waiting:
        for needed in needs.get(waiting.pop(), ()):
            if needed not in wanted:
                wanted.add(needed)
                waiting.append(needed)
    return build_order({name: needs.get(name, ()) for name in wanted})
