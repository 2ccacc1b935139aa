"""The `model_judge` check: an independent model's opinion, for soft goals. It proves the least."""

import asyncio
import hashlib
from pathlib import Path

from checkrein.adapters.candidate_files import Unusable
from checkrein.adapters.verdicts import About, about, not_mine
from checkrein.adapters.workspace_diff import matching, text_of
from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.adapters.workspace_tree import HashCache, entries
from checkrein.contracts.check import Check, ModelJudgeCheck, ModelJudgeSpec, same_model
from checkrein.contracts.codec import canonical, visible
from checkrein.contracts.verification import CheckResult
from checkrein.errors import CapabilityError, InputError, ModelError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.judge import Judge, OpenJudge, Opinion, Question, ShownFile
from checkrein.ports.verifier import Bill, Examination
from checkrein.ports.workspace import Workspace

MAX_FILES = 64
"""Most files that a judge is shown."""

MAX_BYTES = 256 * 1024
"""Most bytes of them together."""

_VERSION = "model_judge/1"

_FREE = {"input_tokens": 0, "output_tokens": 0}


class ModelJudgeVerifier:
    """Implements checkrein.ports.verifier.Verifier for `model_judge` checks.

    It knows the judge by its port alone. Only an answer of the one form counts; anything else, and
    a judge that cannot be asked, is ERROR. What was asked and said is kept for people.
    """

    def __init__(self, open_judge: OpenJudge, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps each question with its answer."""
        self._open_judge = open_judge
        self._artifacts = artifacts

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `model_judge` check."""
        return isinstance(check, ModelJudgeCheck)

    async def bill(self, check: Check, examination: Examination) -> Bill | None:
        """The worst case of one question; None where `verify` asks nobody.

        Raises:
            EnvironmentFault: the copy cannot be read.
            InputError: the check is of another kind.
        """
        if not isinstance(check, ModelJudgeCheck):
            not_mine(_VERSION, check)
        spec = check.model_judge
        author = examination.contract.model
        if author is not None and same_model(author, spec.model):
            return None
        try:
            files = await asyncio.to_thread(_shown, examination.copy_root, spec)
            judge = await self._open_judge(spec.model)
        except (Unusable, InputError, ModelError):
            return None  # `verify` says what is wrong
        return Bill(model=spec.model, most=judge.most(Question(rubric=spec.rubric, files=files)))

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Show the files to the judge, and take its verdict.

        Raises:
            EnvironmentFault: the copy cannot be read.
            InputError: the check is of another kind.
        """
        if not isinstance(check, ModelJudgeCheck):
            not_mine(_VERSION, check)
        spec = check.model_judge
        subject = about(check, f"{_short(spec.model)}: {' '.join(spec.rubric.split())[:120]}")
        author = examination.contract.model
        if author is not None and same_model(author, spec.model):
            return subject.error("The judge is the model that did the work.")
        try:
            files = await asyncio.to_thread(_shown, examination.copy_root, spec)
        except Unusable as error:
            return subject.failed(str(error))
        question = Question(rubric=spec.rubric, files=files)
        try:
            judge = await self._open_judge(spec.model)
            opinion = await judge.opinion(question)
        except InputError as error:
            return subject.error(f"The judge cannot be asked: {error}")
        except ModelError as error:
            told = subject.error(f"The judge cannot be asked: {error}")
            # A fault that passes may come after the call was paid; one that stays refused it.
            return told if error.retryable else told.model_copy(update={"measured": _FREE})
        except TimeoutError:
            return subject.error("The judge did not answer in time.")
        kept = await self._kept(judge, question, opinion)
        sampled = is_sampled(examination.state_digest, subject.name, spec.sample)
        return _result(subject, opinion, sampled).model_copy(update={"evidence_ref": kept})

    async def _kept(self, judge: Judge, question: Question, opinion: Opinion) -> str:
        told = {
            "judge": judge.name,
            "question": question.model_dump(mode="json"),
            "answer": opinion.raw.encode("utf-8", "backslashreplace").decode(),
        }
        kept = await self._artifacts.put(
            canonical(told), name="judgement", media_type="application/json", producer=_VERSION
        )
        return kept.uri


def is_sampled(state_digest: str, name: str, share: float) -> bool:
    """Whether a person is asked to look at this verdict: the same answer for the same state."""
    drawn = hashlib.sha256(f"{state_digest}\n{name}".encode()).digest()[:8]
    return int.from_bytes(drawn) < share * 2**64


def _short(model: str) -> str:
    """A model's name without the folders of this machine."""
    return model.rpartition("/")[2] if model.startswith("scripted:") else model


def _shown(root: Path, spec: ModelJudgeSpec) -> list[ShownFile]:
    """The files that match, as data. Blocks.

    Raises:
        Unusable: none matches, or they are more than a judge is shown.
    """
    folder = GuardedFolder(root)
    paths = sorted(e.path for e in entries(folder, HashCache()) if e.kind == "file")
    found = matching(paths, spec.files)
    if not found:
        raise Unusable(f"No file matches {', '.join(spec.files)}; there is nothing to judge.")
    if len(found) > MAX_FILES:
        raise Unusable(f"{len(found)} files match; a judge is shown at most {MAX_FILES}.")
    files, left = list[ShownFile](), MAX_BYTES
    for path in found:
        try:
            data = folder.read(tuple(path.split("/")), op="judge.read", limit=left)
        except CapabilityError as error:
            raise Unusable(f"{error} A judge is shown at most {MAX_BYTES} bytes.") from error
        left -= len(data)
        files.append(ShownFile(path=visible(path), text=text_of(data)))
    return files


def _result(subject: About, opinion: Opinion, sampled: bool) -> CheckResult:
    measured = {
        "input_tokens": opinion.usage.input_tokens,
        "output_tokens": opinion.usage.output_tokens,
        "sampled": int(sampled),
    }
    if opinion.verdict == "pass":
        return subject.passed(**measured)
    if opinion.verdict == "fail":
        told = "; ".join(opinion.reasons) or "it gave no reason"
        return subject.failed(f"The judge says no: {told}", **measured)
    wrong = subject.error("The judge's answer is not of the form that counts.")
    return wrong.model_copy(update={"measured": measured})
