import pytest
from registry import Exporters, Importers


def test_what_is_registered_is_found():
    Importers.register("csv")(str.split)
    assert Importers.find("csv")("a b") == ["a", "b"]


def test_exporters_know_no_importers():
    Importers.register("json")(str.lower)
    with pytest.raises(LookupError, match="no exporter 'json'"):
        Exporters.find("json")


def test_a_name_is_taken_once():
    Importers.register("xml")(str)
    with pytest.raises(ValueError):
        Importers.register("xml")(str)
