"""effects and reconcile: an unknown fate is settled by proof, or by a person who is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]

TILL = '''
from pathlib import Path
from checkrein import capability

@capability("till.pay", resource=lambda a: f"order:{a['order']}")
async def pay(order: str) -> dict[str, str]:
    """Pay an order."""
    book = Path(__file__).with_name("book")
    with book.open("a") as lines:
        lines.write(order + "\\n")
    raise TimeoutError
'''

SETTLES = ("EFFECT", "--as", "bob", "--outcome", "committed", "--evidence")

PAY = says("I pay.", call("till.pay", order="o1"))


@pytest.fixture
def unknown(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An attempt whose payment nobody knows the fate of, as its JSON tells it."""
    name = f"till_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(TILL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHECKREIN_CAPABILITIES", f"{name}:pay")
    task = task_file(tmp_path, [PAY, DONE], capabilities=["till.pay"], commit_authority="dora")
    ran = cli("run", task, "--json")
    assert (ran.code, ran.json["status"]) == (3, "RECONCILE_REQUIRED")
    return ran.json


def by_hand(cli: Cli, effect: str, who: str, outcome: str, *more: str) -> Ran:
    """A person's word."""
    return cli(
        *("reconcile", effect, "--as", who, "--outcome", outcome, "--evidence", "receipt r-1"),
        *more,
    )


def test_the_way_out_is_named(cli: Cli, unknown: dict[str, Any]) -> None:
    """Protects: whoever finds a stopped run is told the commands that go on, and they work."""
    (effect,) = unknown["unsettled"]
    assert unknown["next"] == [
        f"checkrein reconcile {effect}",
        f"checkrein resume {unknown['attempt_id']}",
    ]
    assert "--outcome" in unknown["next_note"]
    (listed,) = cli("effects", "--json").json["effects"]
    assert (listed["effect_id"], listed["status"]) == (effect, "UNKNOWN_EFFECT")
    assert listed["capability"] == "till.pay@1"
    assert [t["outcome"] for t in listed["tries"]] == ["unknown"]
    assert f"checkrein reconcile {effect}" in cli("effects", unknown["attempt_id"]).out


@pytest.mark.shows(119)
def test_a_target_that_cannot_be_asked_settles_nothing(cli: Cli, unknown: dict[str, Any]) -> None:
    """Protects: not knowing stays not knowing; the command says so and changes nothing."""
    (effect,) = unknown["unsettled"]
    ran = cli("reconcile", effect, "--json")
    assert (ran.code, ran.json["settled"]) == (3, False)
    assert ran.json["effect"]["status"] == "UNKNOWN_EFFECT"
    assert "--as WHO" in ran.json["next_note"]


@pytest.mark.shows(128)
@pytest.mark.parametrize("who", ["bob", "dora"])
def test_a_persons_word_is_marked_as_such(cli: Cli, unknown: dict[str, Any], who: str) -> None:
    """Protects: the record tells proof from a word, whose word it was, and on what it rests."""
    (effect,) = unknown["unsettled"]
    ran = by_hand(cli, effect, who, "committed", "--json")
    assert ran.code == 0
    assert (ran.json["effect"]["status"], ran.json["effect"]["source"]) == ("COMMITTED", "manual")
    assert ran.json["next"] == [f"checkrein resume {unknown['attempt_id']}"]
    done = cli("resume", unknown["attempt_id"], "--json")
    assert (done.code, done.json["status"]) == (0, "CANDIDATE_VERIFIED")
    assert done.json["effects"] == {"COMMITTED": 1}
    assert Path("book").read_text() == "o1\n"
    events = cli("trace", unknown["attempt_id"], "--json").json["events"]
    (told,) = [e["payload"] for e in events if e["type"] == "effect_reconciled"]
    assert (told["by"], told["evidence"], told["authenticated"]) == (who, "receipt r-1", False)
    assert told["authority"] == ("approver" if who == "bob" else "commit_authority")


def test_not_applied_reaches_the_model_as_a_failure(cli: Cli, unknown: dict[str, Any]) -> None:
    """Protects: what did not happen is never shown as done, and never sent again by itself."""
    (effect,) = unknown["unsettled"]
    assert by_hand(cli, effect, "bob", "not-applied").code == 0
    done = cli("resume", unknown["attempt_id"], "--json")
    assert done.json["effects"] == {"NOT_APPLIED": 1}
    assert Path("book").read_text() == "o1\n"
    events = cli("trace", unknown["attempt_id"], "--json").json["events"]
    (seen,) = [e["payload"]["observation"] for e in events if e["type"] == "observation"]
    assert seen["status"] == "failed"


def test_who_may_not_settle_is_told_who_may(cli: Cli, unknown: dict[str, Any]) -> None:
    """Protects: a word counts only from whom the task names; the refusal changes nothing."""
    (effect,) = unknown["unsettled"]
    ran = by_hand(cli, effect, "mallory", "committed", "--json")
    assert (ran.code, ran.error["code"]) == (2, "reconciler_not_permitted")
    assert "bob, carol may" in ran.error["message"]
    (listed,) = cli("effects", "--json").json["effects"]
    assert listed["status"] == "UNKNOWN_EFFECT"


def test_what_is_final_stays_final(cli: Cli, unknown: dict[str, Any]) -> None:
    """Protects: nobody rewrites the fate of an effect, by hand or by asking."""
    (effect,) = unknown["unsettled"]
    assert by_hand(cli, effect, "bob", "committed").code == 0
    for again in (
        by_hand(cli, effect, "bob", "not-applied", "--json"),
        cli("reconcile", effect, "--json"),
    ):
        assert (again.code, again.error["code"]) == (2, "effect_final")
        assert "compensated" in again.error["message"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("eff_none",), "unknown_effect"),
        (("eff_none", "--as", "bob"), "usage"),
        (("EFFECT", "--as", "bob", "--outcome", "perhaps", "--evidence", "r"), "usage"),
        (
            ("EFFECT", "--as", "bob", "--outcome", "committed", "--evidence", " "),
            "unusable_argument",
        ),
        ((*SETTLES, "x" * 3000), "evidence_missing"),
    ],
)
def test_bad_input_is_refused_whole(
    cli: Cli, unknown: dict[str, Any], args: tuple[str, ...], code: str
) -> None:
    """Protects: half a word settles nothing."""
    (effect,) = unknown["unsettled"]
    ran = cli("reconcile", *(effect if arg == "EFFECT" else arg for arg in args), "--json")
    assert (ran.code, ran.error["code"]) == (2, code)
    assert cli("effects", "--json").json["effects"][0]["status"] == "UNKNOWN_EFFECT"


def test_without_the_capability_it_says_what_is_missing(
    cli: Cli, unknown: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a process that cannot ask says which part it lacks; a person still can settle."""
    (effect,) = unknown["unsettled"]
    monkeypatch.delenv("CHECKREIN_CAPABILITIES")
    ran = cli("reconcile", effect, "--json")
    assert ran.code == 2
    assert ran.error["code"] == "unknown_capability"
    assert by_hand(cli, effect, "bob", "committed").code == 0
