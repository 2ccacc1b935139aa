"""Words in a binary search tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass
class Node:
    """A word; smaller ones lie to the left, larger ones to the right."""

    word: str
    left: Node | None = None
    right: Node | None = None


class WordTree:
    """A sorted set of words."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._root: Node | None = None
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Add a word; one that is there already stays alone."""
        self._root = self._added(self._root, word)

    def _added(self, node: Node | None, word: str) -> Node:
        if node is None:
            return Node(word)
        if word < node.word:
            node.left = self._added(node.left, word)
        elif word > node.word:
            node.right = self._added(node.right, word)
        return node

    def __contains__(self, word: str) -> bool:
        return bool(self._found(self._root, word))

    def _found(self, node: Node | None, word: str) -> bool:
        if node is None:
            return False
        if word == node.word:
            return True
        self._found(node.left if word < node.word else node.right, word)

    def __iter__(self) -> Iterator[str]:
        yield from self._words(self._root)

    def _words(self, node: Node | None) -> Iterator[str]:
        if node is not None:
            yield from self._words(node.left)
            yield node.word
            yield from self._words(node.right)
