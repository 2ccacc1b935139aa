"""Buttons made from a table of commands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Command = Callable[[str], str]


@dataclass(frozen=True)
class Button:
    """What stands on it, and what happens when it is pressed."""

    label: str
    press: Callable[[], str]


def toolbar(commands: Mapping[str, Command], target: str) -> list[Button]:
    """One button for each command, all for the same target."""
    buttons: list[Button] = []
    for name, command in commands.items():
        label = name.replace("_", " ").capitalize()
        buttons.append(Button(label, lambda: command(target)))
    return buttons


def press_all(buttons: list[Button]) -> list[str]:
    """Press each button once, from left to right."""
    return [button.press() for button in buttons]
