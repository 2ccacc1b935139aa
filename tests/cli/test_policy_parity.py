"""policy parity: what was recorded, asked of both engines; and the end where there is no OPA."""

import json
import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLine, Ran, task_file
from loops import ALLOW_ALL, DONE, call, says

from checkrein.evals import opa_binary
from checkrein.policy_rego.input_document import input_text
from checkrein.policy_rego.lint import trial_input

Cli = Callable[..., Ran]

LINE = input_text(trial_input()).decode()
ENTRY = json.dumps({"decision_id": "a/1", "input": json.loads(LINE), "result": {}})
UNWRITTEN = json.dumps({"decision_id": "a/2", "input": None, "result": {}})

OTHER_OPA = """#!/bin/sh
# An OPA that serves more than it says: one rule is put into the bundle that it is given.
for word in "$@"; do
  [ "$before" = --bundle ] && cat > "$word/checkrein/rules/more.rego" <<'REGO'
package checkrein.rules.more
allow contains {{"reason_code": "more"}} if true
REGO
  before=$word
done
exec {binary} "$@"
"""


@pytest.fixture
def binary() -> Path:
    """A real OPA; without one the test is skipped, with one line that says how to get it."""
    place = opa_binary.found(Path(__file__).parents[2])
    if place is None:
        pytest.skip(opa_binary.HOW)
    return place


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of recorded inputs."""

    def write(*lines: str | bytes) -> Path:
        place = tmp_path / "inputs.jsonl"
        raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
        place.write_bytes(b"\n".join([*raw, b""]))
        return place

    return write


def test_what_the_log_wrote_is_compared(
    cli: Cli, binary: Path, tmp_path: Path, file: Callable[..., Path]
) -> None:
    """Protects who moves to an OPA server: the runs that there were, asked of both, nothing else.

    A credential is masked in the log; the decision does not hang on it.
    """
    secret = "ghp_" + "a" * 36
    write = says("", call("workspace.write_file", path="a.txt", content=f"token {secret}\n"))
    assert cli("run", task_file(tmp_path, [write, DONE]), "--json").code == 0
    logged = cli("policy", "log")
    assert logged.code == 0 and secret not in logged.out
    place = file(*logged.out.splitlines())
    ran = cli("policy", "parity", place, "--bundle", ALLOW_ALL, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["ok"] is True
    assert (ran.json["compared"], ran.json["same"]) == (2, {"ALLOW": 2})
    assert (ran.json["grants_more"], ran.json["differences"]) == (0, [])
    assert (
        ran.json["version"]
        == json.loads(logged.out.splitlines()[0])["bundles"]["checkrein"]["revision"]
    )


def test_both_kinds_of_lines_are_taken(
    plain_cli: Cli, binary: Path, file: Callable[..., Path]
) -> None:
    """Inputs and log entries may stand in one file; an entry without an input is counted."""
    ran = plain_cli("policy", "parity", file(LINE, "", ENTRY, UNWRITTEN, "  "))
    assert ran.code == 0, ran.err
    assert "2 inputs compared; same whole answer: 2 DENY" in ran.out
    assert "1 line holds no input: none could be written when it was decided" in ran.out
    assert "0 cases where one grants more than the other" in ran.out


def test_an_engine_that_grants_more_ends_it_with_1(
    plain_cli: Cli,
    binary: Path,
    file: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The case that it is for: the line is named, with both answers."""
    other = tmp_path / "opa"
    other.write_text(OTHER_OPA.format(binary=binary.resolve()), encoding="utf-8")
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("OPA_BIN", str(other))
    bundle = tmp_path / "bundle"
    (bundle / "checkrein/rules").mkdir(parents=True)
    (bundle / "checkrein/rules/mine.rego").write_text(
        "package checkrein.rules.mine\n\n"
        'allow contains {"reason_code": "low"} if input.task.risk == "low"\n'
    )
    place = file("", LINE)
    ran = plain_cli("policy", "parity", place, "--bundle", bundle)
    assert ran.code == 1, ran.err
    assert ran.out.startswith(f"{place}:2: GRANTS MORE: embedded DENY ['no_rule_allows']")
    assert "OPA ALLOW ['more']" in ran.out
    told = plain_cli("policy", "parity", place, "--bundle", bundle, "--json")
    assert (told.code, told.json["ok"], told.json["grants_more"]) == (1, False, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "cannot be read. Not valid JSON"),
        ("[]", "cannot be read. The JSON is not an object."),
        ('{"phase": "propose"}', "is no decision input: tenant: Field required"),
        ('{"input": {"phase": "x"}}', "is no decision input: phase"),
        ('{"input": 1}', "is no decision input: its member `input` is no object"),
        (b'{"a": "\xff"}', "cannot be read. Not valid JSON"),
        ("[" * 100_000, "cannot be read. Not valid JSON"),
        (LINE.replace('"args":{}', '"args":{"n":9007199254740992}'), "safe integer"),
        (ENTRY.replace('"args": {}', '"args": {"n": 9007199254740992}'), "safe integer"),
    ],
    ids=[
        *("half", "list", "no input", "entry", "entry of a number", "bytes", "deep", "number"),
        "number in an entry",
    ],
)
def test_a_line_that_is_no_input_is_named(
    plain_cli: Cli, file: Callable[..., Path], line: str | bytes, words: str
) -> None:
    """Protects: whoever cut a file wrongly learns where, before anything is started."""
    place = file(LINE, line)
    ran = plain_cli("policy", "parity", place, "--json")
    assert ran.code == 2
    assert f"{place}:2 " in ran.error["message"]
    assert words in ran.error["message"]
    assert ran.error["code"] == "policy_input_invalid"
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("lines", [(), ("", " "), (UNWRITTEN,)], ids=["empty", "blank", "null"])
def test_a_file_without_an_input_is_refused(
    plain_cli: Cli, file: Callable[..., Path], lines: tuple[str, ...]
) -> None:
    """Nothing compared is no result."""
    ran = plain_cli("policy", "parity", file(*lines), "--json")
    assert (ran.code, ran.error["code"]) == (2, "no_inputs")
    assert "checkrein policy log > FILE" in ran.error["message"]


def test_files_and_bundles_that_cannot_be_used_are_named(
    plain_cli: Cli, file: Callable[..., Path], tmp_path: Path
) -> None:
    """The message says which of the two it is; a bundle with an error is not compared."""
    missing = plain_cli("policy", "parity", tmp_path / "none.jsonl", "--json")
    assert (missing.code, missing.error["code"]) == (2, "no_inputs")
    assert "none.jsonl cannot be read" in missing.error["message"]
    assert plain_cli("policy", "parity", tmp_path, "--json").error["code"] == "no_inputs"
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "mine.rego").write_text("package checkrein.rules.mine\n\nallow contains 1\n")
    ran = plain_cli("policy", "parity", file(LINE), "--bundle", bundle, "--json")
    assert (ran.code, ran.error["code"]) == (2, "policy_invalid")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_ended_early_it_leaves_no_server(
    number: signal.Signals,
    child: CommandLine,
    binary: Path,
    file: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """Protects machines that others work on: the server that it started ends with it."""
    told, noting = tmp_path / "pid", tmp_path / "opa"
    noting.write_text(
        f'#!/bin/sh\n[ "$1" = run ] && echo $$ > {told}\nexec {binary.resolve()} "$@"\n'
    )
    noting.chmod(0o755)
    environment = child.environment | {"OPA_BIN": str(noting)}
    work = CommandLine(environment).started("policy", "parity", file(*[LINE] * 5_000))
    try:
        wait_until(lambda: told.exists() and told.read_text().endswith("\n"))
        server = int(told.read_text())
        assert is_there(server)
        work.send_signal(number)
        assert work.wait(30) == 130
        assert not is_there(server)
    finally:
        work.kill()
        work.communicate()


def is_there(process: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something to hold, for as long as a test may take."""
    while not holds():
        time.sleep(0.02)


def test_without_an_opa_it_says_how_to_get_one(
    plain_cli: Cli, file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a comparison would be none."""
    place = file(LINE)
    monkeypatch.delenv("OPA_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    ran = plain_cli("policy", "parity", place, "--json")
    assert (ran.code, ran.error["code"]) == (2, "no_opa")
    assert "set OPA_BIN to an opa of 1.21.3 or newer" in ran.error["message"]
    monkeypatch.setenv("OPA_BIN", "/bin/true")
    assert plain_cli("policy", "parity", place, "--json").error["code"] == "opa_too_old"
