"""Who speaks: a name that is only asserted, or one that a token of ours proves."""

from checkrein.contracts.approval import Approver
from checkrein.contracts.token import TokenScope
from checkrein.errors import InputError
from checkrein.nodes.approvers import ANONYMOUS
from checkrein.ports.tokens import Tokens


async def speaker(
    tokens: Tokens, name: str | None, secret: str | None, scope: TokenScope
) -> Approver:
    """The person, authenticated where a token that is good for `scope` says so.

    Without a name and a token it is nobody in particular.

    Raises:
        InputError: the token is not good (ports.tokens.REFUSED), or is another person's than the
            one named (code other_person).
    """
    if secret is None:
        return Approver(name=name or ANONYMOUS)
    token = await tokens.use(secret, scope)
    if name not in {None, token.person}:
        raise InputError(
            f"The token is that of {token.person}, and {name} is named as the one who speaks. "
            f"Leave the name out, or use the token of {name}.",
            op="identity.speaker",
            code="other_person",
        )
    return Approver(name=token.person, authenticated=True, tenant=token.tenant)
