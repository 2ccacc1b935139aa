"""Believing an OPA server's answer: one JSON object of the shape that OPA writes, and no other.

Whatever is odd about it is an EnvironmentFault whose code is the reason code of the denial.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from checkrein.contracts.decision import Reserved
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego.json_shapes import is_list, is_object
from checkrein.policy_rego.output import Answer, Refusal, decided

MAX_ANSWER_BYTES = 1024 * 1024
"""Largest answer that is read; a decision has some hundred bytes."""

OLDEST = (1, 21, 3)
"""The oldest OPA that is used: the signature of a bundle could be got around before it."""

HASH = "sha256:"
"""How the revision of a bundle begins that was built with its content hash."""

_OP = "policy.opa"
_KNOWN = {"result", "provenance", "decision_id"}
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})([-+][0-9A-Za-z.+-]{1,64})?")
_REVISION = re.compile(r"[!-~]{1,200}")
_PLACE = re.compile(r"[A-Za-z0-9_./-]{1,300}")


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, by the answer's own word.

    Attributes:
        version: the server's version, for example 1.22.3.
        revision: that of the bundle that decides: the only one, or the only content hash.
        others: the revisions of the other bundles that it serves, for example one that says who
            may ask it.
    """

    version: str
    revision: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One answer, read whole; it stands in for the client's own response object.

    Attributes:
        media: the content type, lower case and without parameters.
    """

    status: int
    media: str
    body: bytes

    def raise_for_status(self) -> None:
        """Refuse all that is not 200, a redirect too.

        Raises:
            EnvironmentFault: policy_error where OPA says that evaluating failed, policy_timeout
                where it gave up on it, else policy_unavailable.
        """
        if self.status == 200:
            return
        if self.status == 500 and (fault := self._evaluation_fault()) is not None:
            raise fault
        why = {401: "it wants another token", 403: "it refuses the token"}.get(
            self.status,
            "a redirect, which is never followed"
            if 300 <= self.status < 400
            else "that is no decision",
        )
        _fail(Reserved.POLICY_UNAVAILABLE, f"The OPA server answers {self.status}: {why}.")

    async def json(self) -> dict[str, Any]:
        """The body as an object.

        Raises:
            EnvironmentFault: policy_output_invalid, it is no JSON object, says that it is
                something else, holds a name twice, or a number that JSON does not have.
        """
        if self.media != "application/json":
            _fail(Reserved.POLICY_OUTPUT_INVALID, "The OPA server's answer is not sent as JSON.")
        return strict_object(self.body)

    def _evaluation_fault(self) -> EnvironmentFault | None:
        """What OPA says when a rule failed: where, and never what was in it."""
        try:
            errors: Any = strict_object(self.body).get("errors")
        except EnvironmentFault:
            return None
        if not is_list(errors) or not errors or not is_object(errors[0]):
            return None
        if errors[0].get("code") == "eval_cancel_error":
            return EnvironmentFault(
                "The OPA server gave up on the decision.", op=_OP, code=Reserved.POLICY_TIMEOUT
            )
        return EnvironmentFault(
            f"The policy failed{_place(errors[0].get('location'))}. "
            "Test the rule there with this kind of input.",
            op=_OP,
            code=Reserved.POLICY_ERROR,
        )


def strict_object(body: bytes) -> dict[str, Any]:
    """Parse one JSON object by the letter.

    Raises:
        EnvironmentFault: policy_output_invalid; the message holds nothing of the body.
    """
    try:
        found: Any = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_each_name_once,
            parse_constant=_no_number,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise EnvironmentFault(
            "The OPA server's answer is not valid JSON.",
            op=_OP,
            code=Reserved.POLICY_OUTPUT_INVALID,
        ) from error
    if not is_object(found):
        _fail(Reserved.POLICY_OUTPUT_INVALID, "The OPA server's answer is no JSON object.")
    return found


def served(document: dict[str, Any]) -> Served:
    """Who gave an answer.

    Raises:
        EnvironmentFault: policy_output_invalid where the answer is not of OPA's shape,
            policy_revision_mismatch where the server serves no bundle, one without a revision, or
            several of which none or more than one can be the one that decides.
    """
    if not document.keys() <= _KNOWN:
        _fail(Reserved.POLICY_OUTPUT_INVALID, "The OPA server's answer holds an unknown part.")
    provenance: Any = document.get("provenance")
    if not is_object(provenance):
        _fail(
            Reserved.POLICY_OUTPUT_INVALID, "The OPA server does not say which bundle it judged by."
        )
    version: Any = provenance.get("version")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        _fail(Reserved.POLICY_OUTPUT_INVALID, "The OPA server does not say which version it is.")
    revisions = _revisions(provenance.get("bundles", {}))
    hashes = [revision for revision in revisions if revision.startswith(HASH)]
    deciding = revisions if len(revisions) == 1 else hashes
    if len(deciding) != 1:
        _fail(
            Reserved.POLICY_REVISION_MISMATCH,
            f"Which of the OPA server's {len(revisions)} bundles decides cannot be told: exactly "
            "one must have its content hash as revision, as docs/policies-opa.md says.",
        )
    others = tuple(revision for revision in revisions if revision not in deciding)
    return Served(version, deciding[0], others)


def too_old(version: str) -> bool:
    """Whether a server must not be used; a release candidate counts as older than its release."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return True
    numbers = tuple(int(part) for part in match.groups()[:3])
    return numbers < OLDEST or (numbers == OLDEST and (match[4] or "").startswith("-"))


def answer(document: dict[str, Any]) -> Answer:
    """What was decided; a missing result is undefined, and null is not."""
    if "result" not in document:
        return Refusal(
            Reserved.POLICY_UNDEFINED,
            "data.checkrein.decision is undefined: no rule of that name was true.",
        )
    return decided(document["result"])


def _revisions(bundles: Any) -> list[str]:
    if not is_object(bundles) or not bundles:
        _fail(
            Reserved.POLICY_REVISION_MISMATCH,
            "The OPA server serves no bundle. Start it with `opa run --server --bundle BUNDLE`.",
        )
    revisions: list[str] = []
    for bundle in bundles.values():
        revision: Any = bundle.get("revision") if is_object(bundle) else None
        if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
            _fail(
                Reserved.POLICY_REVISION_MISMATCH,
                "A bundle of the OPA server has no revision. Build it with "
                "`opa build --revision`, as docs/policies-opa.md says.",
            )
        revisions.append(revision)
    return revisions


def _place(location: Any) -> str:
    if not is_object(location):
        return ""
    file, row, column = (location.get(name) for name in ("file", "row", "col"))
    if not isinstance(file, str) or not _PLACE.fullmatch(file):
        return ""
    if type(row) is not int or type(column) is not int:
        return ""
    return f" at {file}:{row}:{column}"


def _each_name_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(_: str) -> NoReturn:
    raise ValueError("no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number too large")
    return value


def _fail(code: Reserved, message: str) -> NoReturn:
    raise EnvironmentFault(message, op=_OP, code=code)
