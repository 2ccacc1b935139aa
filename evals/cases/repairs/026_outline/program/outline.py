"""Outlines: lists of texts, in which a list is a level deeper."""

from collections.abc import Iterator
from typing import Union

Outline = list[Union[str, "Outline"]]


def flatten(outline: Outline) -> list[str]:
    """All texts, in the order in which one reads them."""
    texts: list[str] = []
    for item in outline:
        if isinstance(item, list):
            texts.extend(flatten(item))
        else:
            texts.append(item)
    return texts


def numbered(outline: Outline) -> Iterator[str]:
    """The texts with running numbers."""
    for number, text in enumerate(flatten(outline), start=1):
        yield f"{number}. {text}"


def first(outline: Outline) -> str | None:
    """The text that one reads first."""
    return next(iter(flatten(outline)), None)
