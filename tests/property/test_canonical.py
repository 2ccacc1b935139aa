"""The quick way of writing canonical JSON is the standard's, byte for byte."""

from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from checkrein.contracts.codec import canonical

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@given(VALUES)
def test_canonical_is_rfc_8785(value: Any) -> None:
    """Protects every digest: two writers of the same value must write the same bytes."""
    assert canonical(value) == rfc8785.dumps(value)
