"""MODULE:OBJECT of a person is loaded, or it is said what is wrong with it and where."""

import sys
from pathlib import Path

import pytest

from checkrein.adapters.plug_in import load_capabilities, load_object
from checkrein.errors import InputError

SHOP = '''
from checkrein import capability

@capability("shop.look", side_effect="READ")
async def look() -> str:
    """Look."""
    return "seen"

@capability("shop.buy")
async def buy() -> str:
    """Buy."""
    return "bought"

class Tools:
    both = [look, buy]

some = (look, 7)
number = 7
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with modules that no other test has."""
    (tmp_path / "plug_shop.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def refusal(text: str) -> str:
    """What is said of an object that cannot be loaded."""
    with pytest.raises(InputError) as caught:
        load_capabilities(text)
    assert caught.value.code == "plug_in_unusable"
    return str(caught.value)


MALFORMED = [
    "shop",
    "shop:",
    ":look",
    "shop:look:more",
    "a b:c",
    "../shop:look",
    "a:b()",
    "a.:b",
    "a:.b",
    "é:b",
    f"a:{'b' * 300}",
    ",a:b",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_text_is_refused_before_anything_is_imported(text: str) -> None:
    """Protects against text that would be executed or searched for in odd places."""
    assert "names no object. Write MODULE:OBJECT" in refusal(text)


@pytest.mark.usefixtures("folder")
def test_object_is_found_in_the_current_directory() -> None:
    """Protects the short way: a file beside oneself works, and the path is left as it was."""
    before = list(sys.path)
    assert load_object("plug_shop:number") == 7
    assert load_object("os.path:sep") == "/"
    assert sys.path == before


@pytest.mark.usefixtures("folder")
def test_capabilities_are_loaded_from_objects_and_lists() -> None:
    """Protects the setting that names them."""
    found = load_capabilities("plug_shop:look, plug_shop:Tools.both")
    assert [one.spec.name for one in found] == ["shop.look", "shop.look", "shop.buy"]
    assert load_capabilities(" ") == []


@pytest.mark.usefixtures("folder")
def test_what_is_not_there_is_named() -> None:
    """Protects whoever misspells: the message says what was searched for, and where."""
    assert "There is no module plug_shpo. It is searched for in" in refusal("plug_shpo:look")
    assert "There is no module plug_shop.more" in refusal("plug_shop.more:look")
    assert "there is no lok in the module plug_shop" in refusal("plug_shop:lok")
    assert "there is no more in the FunctionCapability" in refusal("plug_shop:look.more")


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("x = 1\n1 / 0\n", "failed with ZeroDivisionError: division by zero", 2),
        ("x = 1\n\nx = = 2\n", "failed with SyntaxError: invalid syntax", 3),
        ("import no_such_one\n", "failed with ModuleNotFoundError: No module named", 1),
        ("raise SystemExit(3)\n", "failed with SystemExit: 3", 1),
    ],
)
def test_import_that_fails_is_told_with_its_line(
    source: str, message: str, line: int, folder: Path
) -> None:
    """Protects authors from a bare traceback, and the process from their module."""
    file = folder / "plug_broken.py"
    file.write_text(source, encoding="utf-8")
    said = refusal("plug_broken:x")
    assert message in said
    assert f"({file}, line {line})" in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plug_shop:number", "value of type int, which is no Capability: it lacks spec, idem"),
        ("plug_shop:some", "value of type int, which is no Capability"),
        ("plug_shop:Tools", "is the class Tools. Name an instance of it"),
    ],
)
def test_object_that_is_no_capability_is_refused(text: str, message: str) -> None:
    """Protects the registration, which would fail later and further away."""
    assert message in refusal(text)
