"""`@capability`: an async function of yours becomes something that a model may ask for.

    @capability("orders.lookup", side_effect="READ", resource=lambda a: f"order:{a['order_id']}")
    async def lookup(order_id: str) -> dict[str, str]:
        \"\"\"Find one order by its number.\"\"\"
        ...

The decorated object is a Capability and stays callable as the function that it was. What is not
declared is taken at its worst: IRREVERSIBLE, with no promise about repeats, sent at most once.
"""

from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from checkrein.adapters.function_declaration import (
    DECLARE,
    check_async,
    check_contract,
    check_functions,
    declared_spec,
    declared_terms,
    refused,
)
from checkrein.adapters.function_effect import (
    INJECTED,
    EffectFunctions,
    Find,
    OfArgs,
    Preview,
    ReadVersion,
    Verify,
)
from checkrein.adapters.function_facts import FactSources, declared_facts
from checkrein.adapters.function_signature import FunctionSignature
from checkrein.adapters.function_target import FunctionCapability
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.ports.capability import RetryPolicy

P = ParamSpec("P")
R = TypeVar("R")


def capability(
    name: str,
    *,
    side_effect: SideEffect | str = SideEffect.IRREVERSIBLE,
    guarantee: Guarantee | str = Guarantee.NONE,
    lookup: Lookup | str = Lookup.NONE,
    description: str | None = None,
    resource: OfArgs | None = None,
    key: OfArgs | None = None,
    version: str = "1",
    trust: Trust | str = Trust.TOOL,
    key_retention_s: float | None = None,
    max_key_length: int = 255,
    timeout_s: float = 60.0,
    independent: bool = False,
    compensates: str | None = None,
    private: bool = False,
    egress: bool = False,
    environment: str | None = None,
    retry: RetryPolicy | None = None,
    find: Find | None = None,
    read_version: ReadVersion | None = None,
    preview: Preview | None = None,
    verify: Verify | None = None,
    facts: FactSources | None = None,
    cost: int = 0,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionCapability[P, R]]:
    """Declare an async function as a capability. Its typed parameters become the tool's schema.

    A write may take the keyword-only parameters `idempotency_key: str` and `operation_hash: str`.
    They are filled in from the ledger and are no part of the schema: hand both to the target.

    Args:
        name: as tasks grant it, for example orders.lookup.
        side_effect: READ, REVERSIBLE or IRREVERSIBLE; READ promises that nothing changes.
        guarantee: none, or atomic_key; a target that promises more needs a class of its own.
        lookup: what `find` proves: authoritative, or eventual where absence proves nothing.
        description: what the model is told; by default the docstring's first line.
        resource: names the object from the arguments, for policies, people and the ledger; by
            default the capability's name.
        key: the business key of a write from its arguments, so that a second proposal of the
            same act is the same act; by default every action is an act of its own.
        version: raise it when the meaning changes; approvals bind name@version.
        trust: how far the returned text may be believed.
        key_retention_s: for atomic_key, for how many seconds the target keeps its keys.
        max_key_length: the longest key that the target takes, in characters.
        timeout_s: the longest that one call may take, in seconds.
        independent: it may run although an earlier effect of the turn is not settled.
        compensates: the capability whose effects it undoes; its argument `effect_id` names one.
        private: whether what it returns is private data, which must not leave afterwards.
        egress: whether it sends what it is given to somebody outside.
        environment: where it acts, for example production.
        retry: how a send is repeated where that does no harm.
        find: asks the target whether an effect happened; goes with `lookup`.
        read_version: the object's version now; a grant binds it and goes stale when it changes.
        preview: says for people what would happen; by default the call itself.
        verify: reads the real system back after a receipt.
        facts: the arguments that hold addresses, paths, a command's words or an amount of money, so
            that policies can judge them; see FactSources.
        cost: what one call costs, in minor units of the currency of the task's budgets.

    Raises:
        InputError: the declaration is malformed or contradicts itself (code capability_unusable).
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused('The decorator needs a name: write @capability("orders.lookup").')
    functions = EffectFunctions(resource, key, read_version, preview, find, verify)
    check_functions(name, functions)
    given = {
        "side_effect": side_effect,
        "guarantee": guarantee,
        "lookup": lookup,
        "description": description,
        "version": version,
        "trust": trust,
        "key_retention_s": key_retention_s,
        "max_key_length": max_key_length,
        "timeout_s": timeout_s,
        "independent": independent,
        "compensates": compensates,
        "private": private,
        "egress": egress,
        "environment": environment,
        "retry": retry or RetryPolicy(),
        "cost": cost,
    }
    return _declaring(name, declared_terms(name, given, functions), functions, facts)


def _declaring(
    name: str, terms: dict[str, Any], functions: EffectFunctions, facts: FactSources | None
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionCapability[P, R]]:
    """The decorator itself, once everything that does not need the function is checked."""
    injectable = frozenset[str]() if terms["side_effect"] is SideEffect.READ else INJECTED

    def decorate(function: Callable[P, Coroutine[Any, Any, R]]) -> FunctionCapability[P, R]:
        check_async(function, name)
        signature = FunctionSignature(function, name=name, op=DECLARE, injectable=injectable)
        spec = declared_spec(name, function, signature, terms)
        read = declared_facts(name, facts, signature)
        declared = FunctionCapability(function, spec, signature, functions, read)
        check_contract(declared)
        return declared

    return decorate
