"""What every event payload has."""

from typing import Literal

from checkrein.contracts.codec import Frozen


class PayloadBase(Frozen):
    """Base of every payload; `v` is the version of its form."""

    v: Literal[1] = 1
