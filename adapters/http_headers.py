"""The headers that carry secrets: asked anew for each request, and never shown to anybody."""

from checkrein.adapters.http_declaration import RESERVED, TOKEN, HttpDeclaration
from checkrein.errors import CapabilityError

_SHORTEST_SECRET = 8


async def fresh_headers(declared: HttpDeclaration, op: str) -> tuple[dict[str, str], list[str]]:
    """The declared headers for one request, and what of them is taken out of every text.

    Raises:
        CapabilityError: they cannot be had or used (code headers_unusable); it quotes none.
    """
    if declared.headers is None:
        return {}, []
    try:
        given = dict(await declared.headers())
    except CapabilityError:
        raise
    except Exception as error:
        why = f"they could not be had ({type(error).__name__})"
        raise _unusable(declared, why, op) from error
    for name, value in given.items():
        if not TOKEN.fullmatch(name) or name.lower() in RESERVED:
            raise _unusable(declared, "one has a name that may not be set", op)
        if name.lower() == declared.key_header.lower():
            raise _unusable(declared, "one would replace the key", op)
        if not (value.isascii() and value.isprintable()):
            why = f"the value of {name} holds characters that HTTP forbids"
            raise _unusable(declared, why, op)
    parts = {part for value in given.values() for part in (value, *value.split())}
    secrets = [part for part in parts if len(part) >= _SHORTEST_SECRET]
    # The longest first, so that no part of a secret is left of it.
    return given, sorted(secrets, key=len, reverse=True)


def _unusable(declared: HttpDeclaration, why: str, op: str) -> CapabilityError:
    return CapabilityError(
        f"The headers for {declared.name} cannot be used: {why}. Nothing was sent.",
        op=op,
        code="headers_unusable",
    )
