"""What a model is offered in its coming turn, and by which model that turn is decided."""

from checkrein.contracts.action import SideEffect
from checkrein.nodes.run import Run
from checkrein.ports.capability import PLAN, CapabilitySpec
from checkrein.ports.model import Model
from checkrein.ports.records import Noticed, Position


def offered(run: Run, position: Position) -> list[CapabilitySpec]:
    """What the model is shown of what the task grants: while it plans, only what changes nothing.

    That spares it denials, and protects nothing: the gate judges whatever is called.
    """
    planning = position.planning(run.contract)
    granted = run.contract.capabilities
    if position.attempt.commit is not None:
        granted = [run.contract.commit_act.capability]
    named = (run.ports.capabilities.get(name) for name in granted)
    specs = [capability.spec for capability in named if capability is not None]
    if planning:
        return [spec for spec in specs if spec.side_effect is SideEffect.READ]
    return [spec for spec in specs if spec.name != PLAN]


def alternatives(run: Run, position: Position, denied: str) -> list[str]:
    """What is granted besides a capability that was denied, and that nobody has taken back."""
    revoked = set(position.revocations)
    names = (spec.name for spec in offered(run, position) if spec.name != denied)
    return [name for name in names if f"capability:{name}" not in revoked]


def standing_notice(run: Run, position: Position, turn: int) -> Noticed | None:
    """The notice that counts for a turn: the newest, for as long as its rung is given."""
    noticed = position.progress
    if noticed is None or noticed.answered:
        return None
    return noticed if turn - noticed.turn < run.contract.progress.patience else None


def deciding(run: Run, position: Position) -> Model:
    """The model that decides now: the fallback once the other one has gone in circles."""
    noticed = position.progress
    switched = noticed is not None and noticed.switched
    return (run.ports.fallback if switched else None) or run.ports.model


def proposer(position: Position) -> str:
    """By what name the model that proposed the turn's actions acts: for policies and revocations.

    What was asked in that turn, by the record; whoever would decide the next one is no matter.
    """
    asked = None if position.turn is None else position.turn.model
    return asked or position.attempt.model
