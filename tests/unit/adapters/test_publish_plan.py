"""Which changes a publication can make: known before anything is verified."""

import pytest

from checkrein.adapters.publish_plan import plan_of, unpublishable
from checkrein.adapters.workspace_diff import Change
from checkrein.adapters.workspace_tree import Entry, Kind
from checkrein.contracts.task import LARGEST_PUBLISHED
from checkrein.errors import CapabilityError


def _entry(kind: Kind, size: int = 0) -> Entry:
    return Entry("a", kind, False, "x", size)


FILE, FOLDER, LINK = _entry("file"), _entry("folder"), _entry("link")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (None, LINK, "it is a link"),
        (LINK, None, "it was a link"),
        (LINK, FILE, "it was a link"),
        (None, _entry("special"), "it is no ordinary file"),
        (FILE, FOLDER, "it was a file and is a folder now"),
        (FOLDER, FILE, "it was a folder and is a file now"),
        (FILE, _entry("file", LARGEST_PUBLISHED + 1), f"at most {LARGEST_PUBLISHED} are published"),
    ],
)
def test_what_cannot_be_swapped_is_named(
    before: Entry | None, after: Entry | None, why: str
) -> None:
    """Protects: the gate and the publication itself know the same limits."""
    change = Change("a", before, after)
    assert why in (unpublishable(change) or "")
    sides = [[one] if one is not None else [] for one in (before, after)]
    with pytest.raises(CapabilityError) as refused:
        plan_of(sides[0], sides[1], sides[0])
    assert refused.value.code == "unpublishable"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, FILE),
        (FILE, None),
        (None, FOLDER),
        (FOLDER, None),
        (FILE, _entry("file", LARGEST_PUBLISHED)),
        (_entry("file", LARGEST_PUBLISHED + 1), FILE),
    ],
)
def test_files_and_folders_can_be(before: Entry | None, after: Entry | None) -> None:
    """Protects: what can be handed over is not refused."""
    assert unpublishable(Change("a", before, after)) is None
