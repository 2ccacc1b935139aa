"""evidence: the proof of a finished task as a folder, and checking one anywhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, short, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet, opened
from checkrein.entrypoints.cli.options import Json

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.evidence import EvidencePackage
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.evidence_files import Manifest

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Export the evidence of a task, or verify it without the database.",
)


@app.command()
def export(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder to make; it must be new.")
    ],
    json: Json = False,
) -> int:
    """Write the evidence of a task's last ended attempt to a folder."""
    task_id = words.identifier(task, "TASK")

    async def work(parts: "Parts", watch: "Watch") -> Path:
        from checkrein.graph import evidence

        watch.waiting("the evidence to be written")
        return await evidence.export(parts.records, parts.events, parts.artifacts, task_id, folder)

    written = opened(work)
    package, manifest = _read(written)
    if json:
        out_json({"path": str(written), **_facts(package, manifest)})
        return Exit.DONE
    out(f"{package.attempt.status}  evidence of attempt {package.attempt.attempt_id}")
    out(f"  {len(manifest.files) + 1} files in {shown(written)}")
    out(f"  root {manifest.root}")
    out(f"next: checkrein evidence verify {shown(folder)}")
    return Exit.DONE


@app.command()
def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that `evidence export` wrote.")
    ],
    json: Json = False,
) -> int:
    """Check evidence, without a database; exit code 1 if anything is wrong."""
    be_quiet()
    with Live("the evidence to be checked"):
        from checkrein.graph.evidence_check import check

        findings = check(folder)
    if json:
        found = [finding.model_dump(mode="json") for finding in findings]
        proved = {} if findings else _facts(*_read(folder))
        out_json({"path": str(folder), "ok": not findings, "findings": found, **proved})
    elif findings:
        out(f"NOT whole: the evidence in {shown(folder)} is not what was exported")
        for finding in findings:
            out(f"  {short(finding.file, 120)}: {short(finding.problem, 300)} [{finding.rule}]")
    else:
        _print_proof(folder)
    return Exit.WRONG if findings else Exit.DONE


def _read(folder: Path) -> "tuple[EvidencePackage, Manifest]":
    """The package and its manifest, both known to be sound."""
    from checkrein.contracts.evidence import EvidencePackage
    from checkrein.graph.evidence_files import EVIDENCE, MANIFEST, Manifest

    package = EvidencePackage.model_validate_json((folder / EVIDENCE).read_bytes())
    return package, Manifest.model_validate_json((folder / MANIFEST).read_bytes())


def _facts(package: "EvidencePackage", manifest: "Manifest") -> dict[str, Any]:
    """What a program wants to know of sound evidence."""
    return {
        "task_id": package.task.task_id,
        "attempt_id": package.attempt.attempt_id,
        "status": str(package.attempt.status),
        "effects": len(package.effects),
        "events": manifest.head.seq,
        "files": len(manifest.files) + 1,
        "head": manifest.head.hash,
        "root": manifest.root,
    }


def _print_proof(folder: Path) -> None:
    """The five answers that evidence is for, and the digest to compare with one noted elsewhere."""
    package, manifest = _read(folder)
    facts = _facts(package, manifest)
    out(f"whole: {facts['files']} files, {facts['events']} events, {package.attempt.status}")
    goal = short(package.contract.get("goal", ""))
    out(f"  asked      {shown(package.task.requested_by)}: {goal}")
    for version in package.policies:
        out(f"  policy     {shown(version)}")
    for record in package.approvals:
        for grant in record.grants:
            proof = "signed in" if grant.authenticated else "asserted"
            what = f"{record.request.capability} on {record.request.resource}"
            out(f"  {grant.answer + ':':<10} {shown(grant.approver)} ({proof}), {short(what)}")
    for effect in package.effects:
        out(f"  effect     {effect.status} {short(effect.resource)}")
    verdict = package.verification
    for check in [] if verdict is None else verdict.checks:
        out(f"  proof      {check.status} {short(check.name)}")
    out(f"  head       {manifest.head.hash}")
    out(f"  root       {manifest.root}")
