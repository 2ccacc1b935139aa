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
    from collections.abc import Awaitable, Callable

    from checkrein.compose import Parts
    from checkrein.contracts.evidence import EvidencePackage, Handover
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
    although_moved: Annotated[
        bool,
        typer.Option(
            "--although-moved",
            help="Write it although the workspace is no longer what was verified; it says so.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Write the evidence of a task's last ended attempt to a folder."""
    task_id = words.identifier(task, "TASK")

    async def work(parts: "Parts", watch: "Watch") -> Path:
        from checkrein.graph import evidence

        watch.waiting("the evidence to be written")
        return await evidence.export(
            parts.records,
            parts.events,
            parts.artifacts,
            task_id,
            folder,
            opener=parts.front_door.opener,
            although_moved=although_moved,
        )

    written = opened(work)
    package, manifest = _read(written)
    if json:
        state = _handover(written).model_dump(mode="json")
        out_json({"path": str(written), "handover": state, **_facts(package, manifest)})
        return Exit.DONE
    out(f"{package.attempt.status}  evidence of attempt {package.attempt.attempt_id}")
    out(f"  {len(manifest.files) + 1} files in {shown(written)}")
    out(f"  root {manifest.root}")
    out(f"  the verified state: {_handover(written).state}")
    out(f"  for people: {shown(written / 'report.html')}")
    out(f"next: checkrein evidence verify {shown(folder)}")
    return Exit.DONE


@app.command()
def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that `evidence export` wrote.")
    ],
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="HASH",
            help="The end of a chain, noted elsewhere; name that of the final commit too.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Check evidence, without a database; exit code 1 if anything is wrong."""
    be_quiet()
    with Live("the evidence to be checked"):
        from checkrein.graph.evidence_check import check

        findings = check(folder, head or ())
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


@app.command()
def lineage(
    what: Annotated[
        str,
        typer.Argument(metavar="EFFECT|DIR", help="An effect's id, or a folder with evidence."),
    ],
    json: Json = False,
) -> int:
    """Walk from an effect back to its approval, decision, input and context.

    From a folder no database is needed: it is verified first, and every effect in it is told.
    """
    folder = Path(what)
    if folder.is_dir():
        be_quiet()
        with Live("the evidence to be checked"):
            from checkrein.graph.evidence_check import check

            wrong = check(folder)
        if wrong:
            return verify(folder, json=json)
        package, effect_id = _read(folder)[0], None
    else:
        effect_id = words.identifier(what, "EFFECT")
        package = opened(_package_of(effect_id))
    from checkrein.graph.evidence_lineage import walks

    walked = walks(package, effect_id)
    if json:
        out_json({"effects": [walk.model_dump(mode="json") for walk in walked]})
        return Exit.DONE
    for walk in walked or []:
        out(f"{walk.effect_id}  {walk.status} {short(walk.resource)}")
        for step in walk.steps:
            out(f"  {step.what:<10} {short(step.ref, 90)}")
            for line in step.told:
                out(f"  {'':<10} {short(line, 120)}")
    if not walked:
        out("There is no effect: nothing outside was changed.")
    return Exit.DONE


def _package_of(effect_id: str) -> "Callable[[Parts, Watch], Awaitable[EvidencePackage]]":
    async def work(parts: "Parts", watch: "Watch") -> "EvidencePackage":
        from checkrein.graph import evidence

        watch.waiting("the trace of the effect")
        attempt_id = (await parts.records.effect(effect_id)).effect.attempt_id
        attempt = (await parts.records.position(attempt_id)).attempt
        if attempt.commit is not None:
            attempt_id = attempt.commit.attempt_id
        stores = (parts.records, parts.events, parts.artifacts)
        return await evidence.package(*stores, attempt_id)

    return work


def _handover(folder: Path) -> "Handover":
    from checkrein.contracts.evidence import Handover
    from checkrein.graph.evidence_files import HANDOVER

    return Handover.model_validate_json((folder / HANDOVER).read_bytes())


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
        "task_status": str(package.task.status),
        "finishes": package.finishes.model_dump(mode="json"),
        "final_commit": package.final_commit and package.final_commit.attempt.attempt_id,
        "effects": len(package.effects),
        "events": manifest.head.seq,
        "files": len(manifest.files) + 1,
        "head": manifest.head.hash,
        "commit_head": manifest.commit_head and manifest.commit_head.hash,
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
    for name, at in (
        ("final", package.finishes.protocol_final),
        ("verified", package.finishes.task_accepted),
    ):
        out(f"  {name:<10} {'not yet' if at is None else at.isoformat()}")
    for one in package.finishes.user_accepted:
        proof = "signed in" if one.authenticated else "asserted"
        out(f"  accepted   {one.at.isoformat()} by {shown(one.by)} ({proof}) {short(one.note)}")
    if package.final_commit is not None and package.final_commit.attempt.commit is not None:
        by = shown(package.final_commit.attempt.commit.by)
        out(f"  committed  {package.final_commit.committed_at.isoformat()} by {by}")
    out(f"  state      {_handover(folder).state} when it was exported")
    out(f"  head       {manifest.head.hash}")
    if manifest.commit_head is not None:
        out(f"  and of the commit {manifest.commit_head.hash}")
    out(f"  root       {manifest.root}")
