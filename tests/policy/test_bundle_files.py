"""A bundle folder is read whole or refused; its version names exactly what decides."""

import os
import shutil
from pathlib import Path

import pytest

from checkrein.errors import InputError
from checkrein.policy_rego import bundle_files
from checkrein.policy_rego.bundle_data import parsed
from checkrein.policy_rego.bundle_files import (
    ENTRYPOINT_PATH,
    entrypoint,
    load_bundle,
    shipped_bundle,
)

RULE = 'package checkrein.rules.x\n\nallow contains {"reason_code": "fine"} if true\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle of one rule, one test and one data file."""
    root = tmp_path / "bundle"
    (root / "checkrein" / "rules").mkdir(parents=True)
    (root / "checkrein" / "known").mkdir()
    (root / "checkrein" / "rules" / "x.rego").write_text(RULE)
    (root / "checkrein" / "rules" / "x_test.rego").write_text("package checkrein.rules.x_test\n")
    (root / "checkrein" / "known" / "data.json").write_text('{"names": ["a"]}')
    return root


def version_of(folder: Path) -> str:
    return load_bundle(folder).version


def refusal(folder: Path) -> str:
    """The message that a folder is refused with."""
    with pytest.raises(InputError) as refused:
        load_bundle(folder)
    return str(refused.value)


def test_parts_of_a_bundle(folder: Path) -> None:
    """Tests stand apart, data are nested by folder, and the entrypoint is added."""
    (folder / ".manifest").write_text('{"roots": ["checkrein"]}')
    (folder / "README.md").write_text("not read")
    bundle = load_bundle(folder)
    assert list(bundle.modules) == [ENTRYPOINT_PATH, "checkrein/rules/x.rego"]
    assert bundle.modules[ENTRYPOINT_PATH] == entrypoint()
    assert list(bundle.tests) == ["checkrein/rules/x_test.rego"]
    assert bundle.data == '{"checkrein":{"known":{"names":["a"]}}}'
    assert bundle.version.startswith("sha256:")
    with pytest.raises(TypeError):
        bundle.modules["other"] = ""  # type: ignore[index]  # pyright: ignore


def test_shipped_bundle_is_found_and_whole() -> None:
    """What every task without a policy of its own is judged by."""
    bundle = shipped_bundle()
    names = {path.rpartition("/")[2] for path in bundle.modules}
    assert names == {
        "decision.rego",
        "workspace.rego",
        "protected.rego",
        "paths.rego",
        "planning.rego",
        "untrusted.rego",
        "capabilities.rego",
        "commit.rego",
    }
    assert {path.removesuffix("_test.rego") for path in bundle.tests} == {
        path.removesuffix(".rego") for path in bundle.modules
    }


def test_version_names_what_decides_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    """Tests, manifest, notes and the place on disk do not count; rules, data and names do."""
    version = version_of(folder)
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert version_of(tmp_path / "elsewhere") == version
    (folder / "checkrein" / "rules" / "x_test.rego").write_text("package checkrein.rules.y_test\n")
    (folder / ".manifest").write_text("{}")
    (folder / "notes.txt").write_text("later")
    (folder / ".gitignore").write_text("*")
    assert version_of(folder) == version
    seen = {version}
    (folder / "checkrein" / "rules" / "x.rego").write_text("# a comment\n" + RULE)
    seen.add(version_of(folder))
    (folder / "checkrein" / "known" / "data.json").write_text('{"names": ["b"]}')
    seen.add(version_of(folder))
    (folder / "checkrein" / "rules" / "x.rego").rename(folder / "checkrein" / "rules" / "y.rego")
    seen.add(version_of(folder))
    assert len(seen) == 4


def test_own_copy_of_the_entrypoint_changes_nothing(folder: Path) -> None:
    """A folder may hold the shipped entrypoint, so that OPA's tools find it, but no other."""
    version = version_of(folder)
    place = folder / ENTRYPOINT_PATH
    place.write_text(entrypoint())
    assert version_of(folder) == version
    place.write_text(entrypoint() + "\n")
    assert "differs from the entrypoint" in refusal(folder)
    place.write_text(entrypoint())
    (folder / "copy.rego").write_text(entrypoint())
    assert "second copy" in refusal(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rules.reg", b"x", "rules.reg is no part of a policy bundle"),
        ("other.json", b"{}", "other.json is no part of a policy bundle"),
        ("X.REGO", b"x", "X.REGO is no part of a policy bundle"),
        (".hidden.rego", b"x", ".hidden.rego is a hidden rule file"),
        ("bad.rego", b"package x\n\xff", "bad.rego is no UTF-8 text (byte 10)"),
        ("big.rego", b"#" * (256 * 1024 + 1), "big.rego is larger than 262144 bytes"),
        (".manifest", b"[]", ".manifest is no JSON object"),
        ("data.json", b"{", "data.json cannot be used. Not valid JSON"),
        ("data.json", b"[]", "The JSON is not an object"),
        ("data.json", b'{"a": NaN}', "no finite number"),
        ("data.json", b'{"a": 9007199254740992}', "beyond 2**53-1"),
        ("data.json", b'{"a": "\\ud800"}', "lone surrogate"),
        ("data.json", b'{"checkrein": {"known": {"names": []}}}', "data.checkrein.known.names"),
        ("data.yaml", b"a: no", "'no' is read in different ways; quote it (line 1, column 4)"),
        ("data.yaml", b"a: 2026-01-01", "is read in different ways"),
        ("data.yaml", b"a: 010", "is read in different ways"),
        ("data.yaml", b"a: .inf", "is read in different ways"),
        ("data.yaml", b"a: !!python/name:os.system", "is read in different ways"),
        ("data.yaml", b"a: 1\na: 2", "the name 'a' stands twice (line 2, column 1)"),
        ("data.yaml", b"1: a", "the name '1' is no text"),
        ("data.yaml", b"a: &x [1]\nb: *x", "anchors and aliases are not read"),
        ("data.yaml", b"a: [", "data.yaml cannot be used."),
        ("data.yaml", b"- a", "The YAML is not an object"),
    ],
)
def test_unusable_files_are_refused(folder: Path, name: str, content: bytes, message: str) -> None:
    """A file that is passed over may be the rule that denies, so nothing is passed over."""
    (folder / name).write_bytes(content)
    assert message in refusal(folder)


def test_yaml_and_json_data_are_one_document(folder: Path) -> None:
    """What YAML and JSON agree about is read; files in several folders make one tree."""
    text = 'list:\n  - "no"\n  - plain text\n  - 12\n  - true\n  - null\nmap: {a: -1}\n'
    (folder / "data.yaml").write_text(text)
    expected = {"list": ["no", "plain text", 12, True, None], "map": {"a": -1}}
    assert parsed("data.yaml", text) == expected
    assert parsed("a/b/data.yml", text) == {"a": {"b": expected}}
    assert '"known":{"names":["a"]}' in load_bundle(folder).data
    assert '"map":{"a":-1}' in load_bundle(folder).data


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    """A policy that is not there must not be taken for one that has nothing against anything."""
    assert "does not exist" in refusal(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    assert "is no folder" in refusal(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert "holds no .rego file" in refusal(tmp_path / "empty")


def test_links_stay_inside(folder: Path, tmp_path: Path) -> None:
    """A link inside the bundle is a file like others; one that leads out could change unseen."""
    version = version_of(folder)
    hidden = folder / "..data"
    hidden.mkdir()
    rule = folder / "checkrein" / "rules" / "x.rego"
    rule.rename(hidden / "x.rego")
    rule.symlink_to(hidden / "x.rego")
    assert version_of(folder) == version
    outside = tmp_path / "outside.rego"
    outside.write_text(RULE)
    (folder / "out.rego").symlink_to(outside)
    assert "out.rego is a link that leads out of the bundle" in refusal(folder)
    (folder / "out.rego").unlink()
    (folder / "more").symlink_to(tmp_path)
    assert "more is a link to a folder" in refusal(folder)


def test_pipes_are_not_waited_for(folder: Path) -> None:
    """Opening a pipe that nobody writes to would block for ever."""
    os.mkfifo(folder / "pipe.rego")
    assert "pipe.rego is no regular file" in refusal(folder)


def test_number_and_size_of_files_are_bounded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder named by mistake, such as one's home, ends in a message and not in memory."""
    monkeypatch.setattr(bundle_files, "MAX_FILES", 3)
    load_bundle(folder)
    (folder / "one_more.rego").write_text(RULE)
    assert "one file more than the 3 of a bundle" in refusal(folder)
    monkeypatch.setattr(bundle_files, "MAX_FILES", 512)
    monkeypatch.setattr(bundle_files, "MAX_TOTAL_BYTES", 100)
    assert "larger than 100 bytes" in refusal(folder)
