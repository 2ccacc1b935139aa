"""Tools for tests on the command line: CHECKREIN_CAPABILITIES=closing_shop:TOOLS."""

from checkrein import capability
from checkrein.errors import CapabilityError


@capability("shop.ask", side_effect="READ")
async def ask(what: str) -> str:
    """Ask the shop, which is closed for good."""
    raise CapabilityError(f"no {what} any more", op="shop.ask", code="closed", advice="It is shut.")


@capability("shop.pay", resource=lambda a: f"order:{a['order']}", key=lambda a: f"pay {a['order']}")
async def pay(order: str) -> None:
    """Pay an order; the answer gets lost."""
    raise TimeoutError


TOOLS = [ask, pay]
