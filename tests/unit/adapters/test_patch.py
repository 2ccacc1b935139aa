"""Patches: strict, without fuzz, and an observation that says how to mend each that fails."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkrein.adapters.patch import apply_patch, lines_of
from checkrein.adapters.workspace_diff import unified_diff
from checkrein.errors import CapabilityError

TEXT = "".join(f"line {n}\n" for n in range(1, 21))
# Few different lines, so that contexts repeat; ends of all kinds, and what looks like a header.
LINE = st.sampled_from(
    ["a", "b", "", " ", "-- a", "++ b", "@@ -1 +1 @@", "\\ No newline", "é￥", "\x0c", "x\ry"]
)
TEXTS = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=12).map(
    lambda lines: "".join(line + end for line, end in lines)
)
MAYBE_CUT = st.tuples(TEXTS, st.booleans()).map(
    lambda drawn: drawn[0].removesuffix("\n") if drawn[1] else drawn[0]
)


def failure(text: str | None, patch: str, path: str = "a.txt") -> CapabilityError:
    with pytest.raises(CapabilityError) as caught:
        apply_patch(text, patch, path)
    assert caught.value.advice
    assert not caught.value.effect_possible
    return caught.value


def patch_of(*lines: str, path: str = "a.txt") -> str:
    return f"--- a/{path}\n+++ b/{path}\n" + "".join(line + "\n" for line in lines)


@given(MAYBE_CUT, MAYBE_CUT)
def test_our_own_diff_applies(before: str, after: str) -> None:
    """Protects previews and evidence: the diff that was shown makes exactly what was shown."""
    patch = unified_diff(before, after, "a.txt")
    if before != after:
        assert apply_patch(before, patch, "a.txt") == after


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_any_diff_applies(before: str, after: str, context: int) -> None:
    """Protects content: difflib's own diff of a and b, applied to a, gives b, byte for byte."""
    lines = difflib.unified_diff(lines_of(before), lines_of(after), "a/a.txt", "b/a.txt", n=context)
    patch = "".join(lines)
    if before != after:
        assert apply_patch(before, patch, "a.txt") == after


@given(st.text(max_size=80), st.text(max_size=120))
def test_no_patch_crashes(text: str, patch: str) -> None:
    """Protects the run: whatever a model sends is applied or refused with advice."""
    try:
        apply_patch(text, patch, "a.txt")
    except CapabilityError as error:
        assert error.advice


@given(st.lists(st.sampled_from(["@@ -1,2 +1,2 @@", "@@ -1 +1 @@", " a", "-a", "+b", "", "x"])))
def test_no_crooked_hunk_crashes(lines: list[str]) -> None:
    """Protects the run against hunks whose counts are wrong in any way."""
    try:
        apply_patch("a\nb\na\n", patch_of(*lines), "a.txt")
    except CapabilityError as error:
        assert error.advice


def test_a_moved_hunk_finds_its_one_place() -> None:
    """Protects models that count lines badly: one other place is no guess, two are."""
    patch = patch_of("@@ -3,2 +3,2 @@", " line 12", "-line 13", "+line XIII")
    assert apply_patch(TEXT, patch, "a.txt") == TEXT.replace("line 13\n", "line XIII\n")
    assert "at several other places (lines 2, 4)" in str(
        failure("b\na\nb\na\nc\n", patch_of("@@ -5 +5 @@", "-a", "+x"))
    )


def test_a_mismatch_names_hunk_expected_and_found() -> None:
    """Protects the repair: the model is told what it got wrong, and where."""
    patch = patch_of("@@ -2,2 +2,2 @@", " line 2", "-line three", "+x")
    error = failure(TEXT, patch)
    assert error.code == "patch_does_not_apply"
    for part in ("hunk 1 (@@ -2,2 +2,2 @@)", "'line three\\n' at line 3", "'line 3\\n'"):
        assert part in error.advice
    beyond = patch_of("@@ -20,2 +20,2 @@", " line 20", "-line 21", "+x")
    assert "the file ends before it" in failure(TEXT, beyond).advice


def test_there_is_no_fuzz() -> None:
    """Protects against a patch that is applied although one context line differs."""
    patch = patch_of("@@ -1,3 +1,3 @@", " line 1", "-line 2", "+x", " line  3")
    assert failure(TEXT, patch).code == "patch_does_not_apply"


def test_lines_outside_of_hunks_are_not_dropped() -> None:
    """Protects against counts that are too small: half a patch is not applied."""
    patch = patch_of("@@ -1,1 +1,1 @@", "-line 1", "+one", "+one and a half")
    assert "line 6 of the patch lies outside" in failure(TEXT, patch).advice
    short = patch_of("@@ -1,3 +1,3 @@", "-line 1", "+one")
    assert "must count the lines that follow" in failure(TEXT, short).advice


def test_hunks_must_not_overlap() -> None:
    """Protects against changing the same lines twice."""
    patch = patch_of("@@ -4 +4 @@", "-line 4", "+x", "@@ -2 +2 @@", "-line 2", "+y")
    assert "overlaps" in failure(TEXT, patch).advice


@pytest.mark.parametrize(
    "patch",
    [
        patch_of("@@ -1 +1 @@", "-line 1", "+x", path="other.txt"),
        patch_of("@@ -1 +1 @@", "-line 1", "+x", path="../a.txt"),
        patch_of("@@ -1 +1 @@", "-line 1", "+x") + patch_of("@@ -1 +1 @@", "-a", "+b", path="b"),
        patch_of("@@ -1 +1 @@", "-line 1", "+x") + patch_of("@@ -2 +2 @@", "-line 2", "+y"),
        "diff --git a/a.txt b/b.txt\nsimilarity index 90%\nrename from a.txt\nrename to b.txt\n",
    ],
)
def test_other_files_are_refused(patch: str) -> None:
    """Protects the policy: it judged one path, and the patch must not bring another."""
    error = failure(TEXT, patch)
    assert error.code == "patch_names_other_file"
    assert "only a.txt may stand" in error.advice


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "no file header"),
        ("please change line 1", "no file header"),
        ("--- a/a.txt\n+++ b/a.txt\n", "no hunk"),
        (patch_of("@@ -1 +0,0 @@", "-line 1").replace("+++ b/a.txt", "+++ /dev/null"), "deletes"),
        ("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", "no hunk"),
        ("Binary files a/a.txt and b/a.txt differ\n", "binary"),
    ],
)
def test_what_is_no_change_of_content_is_refused(patch: str, why: str) -> None:
    """Protects against acts that only look like a change of text."""
    assert why in str(failure(TEXT, patch))


def test_a_new_file_is_made_from_nothing_only() -> None:
    """Protects a file that exists from being created again."""
    patch = patch_of("@@ -0,0 +1,2 @@", "+a", "+b").replace("--- a/a.txt", "--- /dev/null")
    assert apply_patch(None, patch, "a.txt") == "a\nb\n"
    assert "exists" in str(failure(TEXT, patch))
    assert "does not exist" in str(failure(None, patch_of("@@ -1 +1 @@", "-a", "+b")))


def test_headers_may_be_left_out_or_come_from_git() -> None:
    """Protects models: hunks alone are clear enough, since the path stands in the call."""
    hunk = "@@ -1 +1 @@\n-line 1\n+one\n"
    wanted = TEXT.replace("line 1\n", "one\n", 1)
    assert apply_patch(TEXT, hunk, "a.txt") == wanted
    assert apply_patch(TEXT, hunk.rstrip("\n"), "a.txt") == wanted
    assert apply_patch(TEXT, f"--- a.txt\n+++ ./a.txt\n{hunk}", "a.txt") == wanted
    git = f"diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n{hunk}"
    assert apply_patch(TEXT, git, "a.txt") == wanted


def test_line_endings_of_the_file_are_kept() -> None:
    """Protects files with CRLF, and without a final line feed, from patches that know neither."""
    patch = patch_of("@@ -1,2 +1,3 @@", " a", "-b", "+c", "+d")
    assert apply_patch("a\r\nb\r\n", patch, "a.txt") == "a\r\nc\r\nd\r\n"
    assert apply_patch("a\nb", patch, "a.txt") == "a\nc\nd"
    assert apply_patch("a\r\nb", patch, "a.txt") == "a\r\nc\r\nd"
    after = patch_of("@@ -1,2 +1,3 @@", " a", " b", "+c")
    assert apply_patch("a\nb", after, "a.txt") == "a\nb\nc"
    exact = patch_of("@@ -2 +2 @@", "-b", "\\ No newline at end of file", "+c")
    assert apply_patch("a\nb", exact, "a.txt") == "a\nc\n"
    assert failure("a\nb\n", exact).code == "patch_does_not_apply"


def test_a_large_rewrite_is_shown_as_one_block() -> None:
    """Protects people from waiting: what difflib would take minutes for is one block."""
    before = "".join(f"{n % 7}\n" for n in range(30_000))
    after = "top\n" + "".join(f"{n % 5}\n" for n in range(30_000)) + "end\n"
    patch = unified_diff(before, after, "a.txt")
    assert patch.count("@@ -") == 1
    assert apply_patch(before, patch, "a.txt") == after
