"""The backend `docker`: each command in a container of its own, by docker's command line."""

import asyncio
import os
import re
import secrets
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from checkrein.adapters.command_docker_left import asking, left_among, marks
from checkrein.adapters.command_order import OUTPUT_BYTES, Order
from checkrein.adapters.command_run import run_order
from checkrein.adapters.command_scratch import (
    check_argv,
    clean_environment,
    command_scratch,
    give_folder,
)
from checkrein.contracts.environment import Isolation, Offer, lacking, offered
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import CommandResult, Confinement, Ending

WORKSPACE = "/workspace"
_OP = "command.docker"
_PINNED = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}")
_ASK_S = 20.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CLIENT = (
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)
_USER = 65534
_OWN_FAULT, _NOT_EXECUTABLE, _NOT_FOUND = 125, 126, 127
_ISOLATES = set(Isolation)


class DockerCommandRunner:
    """Implements checkrein.ports.command_runner.CommandRunner by `docker run`.

    The image is pinned by its digest: a tag may be another image tomorrow.
    """

    def __init__(
        self,
        *,
        image: str | None = None,
        scratch: Path | None = None,
        output_bytes: int = OUTPUT_BYTES,
        path: str | None = None,
    ) -> None:
        """`path`: where `docker` is looked for; by default the PATH of this process."""
        self._image = image
        self._scratch = scratch
        self._output_bytes = output_bytes
        self._path = path or os.environ.get("PATH", _PATH)
        self._offer: Offer | None = None

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        confinement: Confinement,
        stdin: bytes = b"",
        keep: Path | None = None,
    ) -> CommandResult:
        """Run in a new container, which is gone afterwards whatever happened.

        Raises:
            EnvironmentFault: sandbox_unavailable, no docker; sandbox_broken, it could not run the
                container; program_missing, the image lacks the program.
            InputError: image_not_pinned, or no list of words.
        """
        check_argv(argv)
        image = pinned(self._image)
        program = await self._program()
        name = f"checkrein-{secrets.token_hex(8)}"
        async with command_scratch(self._scratch, stdin) as scratch:
            environment = clean_environment("/tmp", "/tmp", confinement.secrets)  # noqa: S108 - its own
            names = sorted(name.upper() for name in confinement.secrets)
            if confinement.writable is not None and os.geteuid() == 0:
                await asyncio.to_thread(give_folder, confinement.writable, _USER)
            order = Order(
                argv=argv,
                start=[
                    program,
                    *run_words(name, image, argv, cwd, confinement, names, marks(scratch)),
                ],
                confinement=confinement,
                cwd=Path("/"),
                environment=environment | self._client_environment(),
                scratch=scratch,
                backend="docker",
                isolated=_held(confinement),
                root=WORKSPACE if confinement.writable is not None else "",
                output_bytes=self._output_bytes,
                keep=keep,
            )
            try:
                result = await run_order(order)
            finally:
                # The command line's end is not the container's.
                await asyncio.shield(self._said(program, "rm", "--force", name))
        return _judged(result)

    async def offer(self) -> Offer:
        """Whether an engine answers; what a killed harness left in it is removed.

        No engine is part of this project's own tests.
        """
        if self._offer is None or self._offer.lack:
            self._offer = await self._looked()
        return self._offer

    async def _looked(self) -> Offer:
        try:
            program = await self._program()
        except EnvironmentFault as fault:
            return lacking("docker", str(fault))
        code, said = await self._said(program, "version", "--format", "{{.Server.Version}}")
        if code != 0 or not said:
            why = said.splitlines()[0][:200] if said else "no answer"
            return lacking("docker", f"no docker engine answers ({why}): start one")
        await self._swept(program)
        return offered("docker", said.split()[0], _ISOLATES, ["none", "host"], tested=False)

    async def _swept(self, program: str) -> None:
        """Remove containers whose harness was killed: its end is not theirs.

        Where the engine refuses, they are looked for again by the next process.
        """
        folder = self._scratch or Path(tempfile.gettempdir())
        code, said = await self._said(program, *await asyncio.to_thread(asking, folder))
        left = await asyncio.to_thread(left_among, said) if code == 0 else []
        if left:
            await self._said(program, "rm", "--force", *left)

    async def _program(self) -> str:
        found = await asyncio.to_thread(shutil.which, "docker", path=self._path)
        if found is None:
            raise EnvironmentFault(
                "The program docker is not on the PATH: install Docker's command line and engine.",
                op=_OP,
                code="sandbox_unavailable",
            )
        return found

    def _client_environment(self) -> dict[str, str]:
        """What docker's own command line reads to find its engine; the container gets none."""
        ours = {name: os.environ[name] for name in _CLIENT if name in os.environ}
        return {**ours, "PATH": self._path, "HOME": os.path.expanduser("~")}

    async def _said(self, program: str, *words: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            program, *words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        try:
            async with asyncio.timeout(_ASK_S):
                out, err = await process.communicate()
        except TimeoutError:
            return None, f"no answer within {_ASK_S:g} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode, (out or err).decode("utf-8", "replace").strip()


def pinned(image: str | None) -> str:
    """An image that names its digest.

    Raises:
        InputError: image_not_pinned.
    """
    if image is None or not _PINNED.fullmatch(image):
        raise InputError(
            "A container's image must be pinned by its digest, such as "
            "python@sha256:0123...: a tag may be another image tomorrow. "
            "`docker images --digests` lists them.",
            op=_OP,
            code="image_not_pinned",
        )
    return image


def run_words(
    name: str,
    image: str,
    argv: list[str],
    cwd: Path,
    confinement: Confinement,
    secret_names: list[str],
    marked: list[str],
) -> list[str]:
    """All arguments of docker for one command. Secrets are named, and so not among them."""
    user = f"{_USER}:{_USER}" if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"
    words = ["run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name]
    words += marked
    words += ["--network", confinement.network, "--read-only", "--cap-drop", "ALL"]
    words += ["--security-opt", "no-new-privileges", "--user", user, "--ipc", "private"]
    words += ["--pids-limit", str(confinement.processes), "--cpus", str(os.cpu_count() or 1)]
    words += ["--ulimit", f"fsize={confinement.file_bytes}", "--ulimit", "core=0"]
    if confinement.cpu_s is not None:
        words += ["--ulimit", f"cpu={confinement.cpu_s}"]
    if confinement.memory_bytes is not None:
        memory = str(confinement.memory_bytes)
        words += ["--memory", memory, "--memory-swap", memory]
    sized = f"rw,nosuid,nodev,size={confinement.tmp_bytes}"
    words += ["--tmpfs", f"/tmp:{sized},mode=1777", "--shm-size", str(confinement.tmp_bytes)]  # noqa: S108 - its own
    words += ["--env", "HOME=/tmp", "--env", "TMPDIR=/tmp", "--env", "LANG=C.UTF-8"]
    words += ["--env", "PYTHONDONTWRITEBYTECODE=1", "--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"]
    for secret in secret_names:
        words += ["--env", secret]
    words += _mounts(cwd, confinement)
    return [*words, "--entrypoint", argv[0], image, *argv[1:]]


def _mounts(cwd: Path, confinement: Confinement) -> list[str]:
    words: list[str] = []
    where = "/"
    if confinement.writable is not None:
        root, place = os.path.realpath(confinement.writable), os.path.realpath(cwd)
        if place != root and not place.startswith(root + os.sep):
            raise EnvironmentFault(
                f"No process can be started in {cwd}: it is no folder of {root}.",
                op=_OP,
                code="command_not_started",
            )
        words += ["--mount", _mount(root, WORKSPACE, writable=True)]
        where = WORKSPACE + place[len(root) :]
    for mount in confinement.mounts:
        words += ["--mount", _mount(str(mount.source), mount.target, writable=mount.writable)]
    return [*words, "--workdir", where]


def _mount(source: str, target: str, *, writable: bool) -> str:
    if "," in source or '"' in source:
        raise EnvironmentFault(
            f"docker cannot bind {source}: its name holds a comma or a quotation mark.",
            op=_OP,
            code="confinement_unavailable",
        )
    return f"type=bind,source={source},target={target}" + ("" if writable else ",readonly")


def _held(confinement: Confinement) -> list[Isolation]:
    without = {Isolation.NETWORK} if confinement.network == "host" else set[Isolation]()
    without |= {Isolation.MEMORY} if confinement.memory_bytes is None else set()
    return [item for item in Isolation if item in _ISOLATES - without]


def _judged(result: CommandResult) -> CommandResult:
    """Tell docker's own failures from the command's, and its signals from its statuses."""
    code, said = result.exit_code, result.stderr[-400:].decode("utf-8", "replace").strip()
    if code == _OWN_FAULT:
        raise EnvironmentFault(
            f"docker could not run the container: {said}.",
            op=_OP,
            code="sandbox_broken",
            retryable=True,
        )
    if code in {_NOT_EXECUTABLE, _NOT_FOUND} and "docker:" in said:
        raise EnvironmentFault(
            f"The image cannot run {result.argv[0]!r}: {said}", op=_OP, code="program_missing"
        )
    if code is not None and code > 128 and result.ended_by is Ending.EXIT:
        changed = {"exit_code": 128 - code, "ended_by": Ending.SIGNAL}
        return result.model_copy(update=changed)
    return result
