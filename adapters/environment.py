"""Negotiating an environment contract: what a task needs against what this machine offers. Pure."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from checkrein.contracts.environment import Backend, EnvironmentSpec, Isolation, Offer

_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Machine:
    """What is known of this machine.

    Attributes:
        tools: by backend, by program, the version that it told; None where it is not there.
        packages: by distribution, the version that this Python has; None where it has none.
        secrets: names that can be given to commands.
        absent: folders that are to be mounted and are not there.
    """

    os: str
    arch: str
    tools: Mapping[Backend, Mapping[str, str | None]] = field(
        default_factory=dict[Backend, Mapping[str, str | None]]
    )
    packages: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    secrets: Set[str] = frozenset()
    absent: Set[str] = frozenset()


@dataclass(frozen=True)
class Negotiated:
    """What came of it.

    Attributes:
        offer: the first wanted backend that lacks nothing; None where there is none.
        lacks: by backend what is missing, of those that were wanted before it.
    """

    offer: Offer | None
    lacks: Mapping[Backend, Sequence[str]]

    @property
    def told(self) -> list[str]:
        """What is missing, a line for each backend."""
        return [f"{backend}: {'; '.join(lacks)}" for backend, lacks in self.lacks.items()]


def negotiated(
    spec: EnvironmentSpec, offers: Sequence[Offer], machine: Machine, *, own_python: bool = False
) -> Negotiated:
    """The first wanted backend that can honour all of the contract.

    `own_python`: whether checks are run by the very Python that runs Checkrein, as those of
    `pytest` are.
    """
    by_name = {offer.backend: offer for offer in offers}
    lacks: dict[Backend, Sequence[str]] = {}
    for backend in spec.backends:
        offer = by_name.get(backend)
        missing = (
            ["it is not known here"] if offer is None else _lacks(spec, offer, machine, own_python)
        )
        if offer is not None and not missing:
            return Negotiated(offer, lacks)
        lacks[backend] = missing
    return Negotiated(None, lacks)


def lacks_of(spec: EnvironmentSpec, offer: Offer, machine: Machine) -> list[str]:
    """All that one backend lacks for a contract, each with what to do about it."""
    if offer.lack:
        return [offer.lack.removesuffix(".")]
    return [
        *_of_machine(spec, machine),
        *_of_backend(spec, offer),
        *_of_network(spec, offer),
        *_of_tools(spec, offer, machine),
    ]


def _lacks(
    spec: EnvironmentSpec, offer: Offer, machine: Machine, own_python: bool
) -> Sequence[str]:
    found = lacks_of(spec, offer, machine)
    if own_python and offer.backend == "docker" and not offer.lack:
        found.append(
            "`pytest` checks, which need the Python that runs Checkrein, and an image has its own: "
            "use a `junit` check that runs the image's pytest"
        )
    return found


def _of_machine(spec: EnvironmentSpec, machine: Machine) -> list[str]:
    found: list[str] = []
    if spec.os is not None and spec.os != machine.os:
        found.append(f"os {spec.os}, and this machine is {machine.os}")
    if spec.arch is not None and spec.arch != machine.arch:
        found.append(f"arch {spec.arch}, and this machine is {machine.arch}")
    if spec.gpu:
        found.append("a GPU, which no backend hands on: take `gpu` out")
    if spec.idle_s is not None:
        found.append("idle_s, which no backend enforces: use timeout_s")
    unknown = sorted(set(spec.secrets) - machine.secrets)
    if unknown:
        found.append(f"the secrets {', '.join(unknown)}, which nobody has set up here")
    found += [
        f"the folder {mount.path} for /mnt/{mount.name}, which is not there: make it"
        for mount in spec.mounts
        if mount.path in machine.absent
    ]
    return found


def _of_backend(spec: EnvironmentSpec, offer: Offer) -> list[str]:
    found: list[str] = []
    if offer.backend == "docker":
        if spec.image is None or not _IMAGE.fullmatch(spec.image):
            found.append("image, pinned by its digest (NAME@sha256:...)")
    elif spec.image is not None:
        found.append("an image, which is docker's alone")
    if spec.mounts and offer.backend == "local":
        found.append("mounts, which need a sandbox")
    needs = {
        Isolation.MEMORY: ("memory_mb", spec.memory_mb),
        Isolation.PROCESS_COUNT: ("processes", spec.processes),
    }
    for isolation, (name, value) in needs.items():
        if value is not None and isolation not in offer.isolates:
            found.append(f"{name}, which it cannot bound here: run as root, or use bubblewrap")
    return found


def _of_network(spec: EnvironmentSpec, offer: Offer) -> list[str]:
    if isinstance(spec.network, list):
        hosts = ", ".join(spec.network[:3])
        return [
            f"network to {hosts} alone, a list that no backend enforces: use `none`, and let a "
            "capability of its own fetch what is needed; or `host`"
        ]
    if spec.network not in offer.networks:
        return [f"network {spec.network}: `checkrein doctor` says why"]
    return []


def _of_tools(spec: EnvironmentSpec, offer: Offer, machine: Machine) -> list[str]:
    if offer.backend == "docker" and (spec.tools or spec.packages):
        return ["tools and packages, which cannot be asked of an image: its digest pins them"]
    told = machine.tools.get(offer.backend, {})
    tools = [("the program", name, told.get(name), least) for name, least in spec.tools.items()]
    packages = [
        ("the Python package", name, machine.packages.get(name), least)
        for name, least in spec.packages.items()
    ]
    found: list[str] = []
    for kind, name, version, least in (*tools, *packages):
        if version is None:
            found.append(f"{kind} {name} is not there: install {least.strip('>= ')} or newer")
        elif not is_enough(version, least):
            found.append(f"{kind} {name} is {version}: install {least.strip('>= ')} or newer")
    return found


def is_enough(version: str, least: str) -> bool:
    """Whether a version is at least another; what comes after the numbers counts nothing."""
    ours, wanted = _numbers(version), _numbers(least)
    length = max(len(ours), len(wanted))
    return _filled(ours, length) >= _filled(wanted, length)


def _numbers(version: str) -> list[int]:
    found = re.search(r"\d{1,9}(?:\.\d{1,9}){0,5}", version)
    return [int(part) for part in found[0].split(".")] if found else []


def _filled(numbers: list[int], length: int) -> list[int]:
    return numbers + [0] * (length - len(numbers))
