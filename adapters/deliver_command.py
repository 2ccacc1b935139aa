"""Deliver to a program: the message as JSON on its standard input, exit code 0 for taken."""

from pathlib import Path

from checkrein.adapters.deliverer_spec import CommandSpec
from checkrein.contracts.codec import to_ascii
from checkrein.contracts.message import ApprovalMessage
from checkrein.errors import DeliveryError, EnvironmentFault
from checkrein.ports.command_runner import CommandRunner, Confinement

_OP = "deliver.command"
_GRACE_S = 5.0


class CommandDeliverer:
    """ports.deliverer.Deliverer by a command in a clean environment, ended with all it starts."""

    def __init__(self, spec: CommandSpec, home: Path, runner: CommandRunner) -> None:
        """`home`: the folder that the command starts in."""
        self.name, self.tenant = spec.name, spec.tenant
        self.give_up_s = spec.give_up_s
        # The runner ends the tree at the command's own limit, and says so.
        self.limit_s = float(spec.timeout_s) + _GRACE_S
        self._timeout_s = float(spec.timeout_s)
        self._argv = list(spec.argv)
        self._home = home
        self._runner = runner

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port."""
        try:
            result = await self._runner.run(
                self._argv,
                cwd=self._home,
                confinement=Confinement(timeout_s=self._timeout_s),
                stdin=(to_ascii(message) + "\n").encode(),
            )
        except EnvironmentFault as error:
            raise DeliveryError(str(error), op=_OP) from error
        if result.timed_out:
            raise DeliveryError(
                f"The command did not end within {self._timeout_s:g} s and was ended.", op=_OP
            )
        if result.exit_code != 0:
            # Not what it printed: that may quote what nobody should read in a list.
            raise DeliveryError(f"The command ended with exit code {result.exit_code}.", op=_OP)
        return ""
