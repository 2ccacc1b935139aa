import pytest
from registry import Exporters, Importers, Registry


def test_both_may_use_a_name():
    Importers.register("toml")(str.upper)
    Exporters.register("toml")(str.lower)
    assert Importers.find("toml")("a") == "A"
    assert Exporters.find("toml")("A") == "a"


def test_a_new_kind_begins_empty():
    class Viewers(Registry):
        kind = "viewer"

    Exporters.register("pdf")(str)
    with pytest.raises(LookupError, match="known: none"):
        Viewers.find("pdf")


def test_the_base_is_a_kind_of_its_own():
    Importers.register("yaml")(str)
    with pytest.raises(LookupError):
        Registry.find("yaml")
