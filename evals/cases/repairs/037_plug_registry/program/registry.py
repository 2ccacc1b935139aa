"""Registries of plugins, by name."""

from collections.abc import Callable
from typing import Any, ClassVar

Plugin = Callable[[str], Any]


class Registry:
    """The plugins of one kind; each kind is a subclass."""

    kind: ClassVar[str] = "plugin"
    _plugins: ClassVar[dict[str, Plugin]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[Plugin], Plugin]:
        """Decorate a plugin to register it.

        Raises:
            ValueError: the name is taken.
        """

        def registered(plugin: Plugin) -> Plugin:
            if name in cls._plugins:
                raise ValueError(f"there is a {cls.kind} {name!r} already")
            cls._plugins[name] = plugin
            return plugin

        return registered

    @classmethod
    def find(cls, name: str) -> Plugin:
        """A plugin by its name.

        Raises:
            LookupError: there is none of that name.
        """
        if name not in cls._plugins:
            known = ", ".join(sorted(cls._plugins)) or "none"
            raise LookupError(f"no {cls.kind} {name!r}; known: {known}")
        return cls._plugins[name]


class Importers(Registry):
    """What reads files."""

    kind = "importer"


class Exporters(Registry):
    """What writes files."""

    kind = "exporter"
