"""Each case that policy engines trip over: the right answer, from both, and what stops it.

`stopped_by` of a case (checkrein.evals.nasty_case) names the part, and these tests hold it to that:

canonicalisation: the input is refused before it is sent, or the rule matches derived facts and
    gives the right answer whatever the raw argument says;
schema: the input, or the capability's arguments, have no place for the value;
lint: the bundle is not loaded, and `checkrein policy check` says why;
engine: both engines fail, or both find out; a failure is policy_error;
output check: both engines answer, and neither answer is believed;
rule: a rule in the portable subset says it right in both.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.contracts.action import PathFact
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.errors import EnvironmentFault
from checkrein.evals.both_engines import bundle_of, opened
from checkrein.evals.nasty_answers import answers
from checkrein.evals.nasty_cases import fields
from checkrein.evals.parity_nasty import judged, kept_out

CASES = {case.name: case for case in [*fields(), *answers()]}
DECIDED = [name for name, case in CASES.items() if case.stopped_by not in {"lint", "schema"}]
KEPT_OUT = [name for name in CASES if name not in DECIDED]


@pytest.fixture(scope="module", autouse=True)
def taken_apart() -> Iterator[None]:
    """The deep argument is taken apart by hand: the interpreter would recurse."""
    yield
    deep = CASES["nested ten thousand deep"].change["action.args"]["a"]
    while deep:
        deep = deep.pop()


def same(embedded: PolicyDecision, opa: PolicyDecision) -> bool:
    """Whether two whole answers are equal; who gave them and how fast is another matter."""
    left, right = (
        one.model_dump(exclude={"engine", "duration_ms", "message"}) for one in (embedded, opa)
    )
    return left == right


@pytest.mark.parametrize("name", DECIDED)
async def test_both_engines_give_the_right_answer(binary: Path, name: str) -> None:
    """Canonicalisation, engine, output check or rule: the answer is right, and the same."""
    case = CASES[name]
    embedded, opa = await judged(case, case.document(), binary)
    assert (embedded.decision.value, embedded.reason_code) == (case.decision, case.reason)
    assert same(embedded, opa)
    if case.reason == Reserved.POLICY_INPUT_INVALID:
        assert case.stopped_by == "canonicalisation"
        assert embedded.input_ref == opa.input_ref == ""


@pytest.mark.parametrize("name", KEPT_OUT)
async def test_lint_and_schema_keep_the_rest_out(name: str) -> None:
    """What engines would answer in two ways, or wrongly alike, never reaches one."""
    assert await kept_out(CASES[name])


@pytest.mark.parametrize(
    "name",
    ["the same without the import", "walk into a pattern", "a class that means other digits"],
)
async def test_without_the_lint_the_engines_would_disagree(binary: Path, name: str) -> None:
    """Why these rules of the lint: unchecked, one engine grants what the other denies."""
    case = CASES[name]
    embedded, opa = await judged(case, case.document(), binary)
    assert {embedded.denies, opa.denies} == {True, False}


async def test_without_the_schema_of_the_arguments_opa_would_pass_it_over(binary: Path) -> None:
    """Text where a rule expects a list: OPA finds nothing in it, the embedded engine fails."""
    case = CASES["text for a list"]
    embedded, opa = await judged(case, case.document(), binary)
    assert embedded.reason_code == Reserved.POLICY_ERROR
    assert not opa.denies


async def test_opa_does_not_even_start_with_recursion(binary: Path) -> None:
    """A rule that calls itself kills the embedded engine's process, were it not for the lint."""
    case = CASES["a rule that calls itself"]
    with pytest.raises(EnvironmentFault) as error:
        await judged(case, case.document(), binary)
    assert "recursive" in str(error.value)


@pytest.fixture
def folder(tmp_path: Path) -> GuardedFolder:
    """A workspace with a file, a link that leads out, and one that stays inside."""
    (tmp_path / "outside").mkdir()
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("", encoding="utf-8")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "alias").symlink_to(root / "src")
    return GuardedFolder(root)


PATHS = {
    "src/a.py": "read_in_workspace",
    "src/./a.py": "read_in_workspace",
    "../etc/passwd": "path_outside_workspace",
    "src/../../etc": "path_outside_workspace",
    "/ws/../etc/passwd": "path_outside_workspace",
    "/etc/passwd": "path_outside_workspace",
    "src/%2e%2e/%2e%2e/etc": "path_outside_workspace",
    "src\\..\\..\\etc": "path_outside_workspace",
    "src/\u2025/etc": "read_in_workspace",  # one sign, no way up: a name like any other
    "etc/passwd\0.txt": "path_outside_workspace",
    "out/secret": "path_outside_workspace",
    "alias/a.py": "path_through_symlink",
    "~/.ssh/id": "path_outside_workspace",
}


async def test_paths_are_judged_by_where_they_lead(
    binary: Path, folder: GuardedFolder, document: Callable[..., DecisionInput]
) -> None:
    """Canonicalisation: from the raw argument to the answer of both engines, by derived facts."""
    read = {
        "task__capabilities": ["workspace.read"],
        "action__capability": "workspace.read",
        "action__side_effect_class": "READ",
    }
    async with opened(bundle_of(None), binary) as engines:
        for raw, reason in PATHS.items():
            fact: PathFact = await asyncio.to_thread(folder.locate, "path", raw)
            asked = document(**read, action__facts={"paths": [fact.model_dump()]})
            embedded, opa = await engines.both(asked)
            assert embedded.reason_code == reason, raw
            assert same(embedded, opa), raw


async def test_a_link_swapped_after_the_decision_is_seen_by_the_next(
    binary: Path, folder: GuardedFolder, document: Callable[..., DecisionInput]
) -> None:
    """Right before it runs an action is judged again, by where its path leads then."""
    read = {
        "task__capabilities": ["workspace.read"],
        "action__capability": "workspace.read",
        "action__side_effect_class": "READ",
    }

    async def judge() -> tuple[str, str]:
        fact = await asyncio.to_thread(folder.locate, "path", "src/a.py")
        asked = document(**read, action__facts={"paths": [fact.model_dump()]})
        embedded, opa = await engines.both(asked)
        return embedded.reason_code, opa.reason_code

    async with opened(bundle_of(None), binary) as engines:
        assert set(await judge()) == {"read_in_workspace"}
        (folder.root / "src" / "a.py").unlink()
        (folder.root / "src" / "a.py").symlink_to("/etc/passwd")
        assert set(await judge()) == {"path_outside_workspace"}


def test_every_group_of_traps_has_a_case() -> None:
    """Groups 11 and 12 (exchanged bundles, servers that fail) lie in test_opa_faults.py."""
    assert {case.group for case in CASES.values()} >= set(range(1, 11))
    assert len(CASES) == len([*fields(), *answers()])
