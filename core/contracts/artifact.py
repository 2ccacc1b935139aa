"""An artifact: bytes with a name, a hash and a history."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen


class ArtifactState(StrEnum):
    """A file that was written is no product yet; READY needs validation."""

    DRAFT = "DRAFT"
    VALIDATING = "VALIDATING"
    READY = "READY"
    PUBLISHED = "PUBLISHED"
    REJECTED = "REJECTED"
    ARCHIVED = "ARCHIVED"
    DELETED = "DELETED"


class Artifact(Frozen):
    """`uri` is artifact:<hash>; bytes that do not hash to `hash` are refused on reading."""

    schema_version: Literal[1] = 1
    uri: str
    hash: str
    size: int = Field(ge=0)
    name: str
    media_type: str
    producer: str
    classification: Literal["internal"] = "internal"
    input_refs: list[str] = Field(default_factory=list[str])
    created_at: datetime | None = None
    retention_policy: Literal["attempt"] = "attempt"
    state: ArtifactState = ArtifactState.READY


class ChangedFile(Frozen):
    """One file that a candidate changed. A digest of a file, or None where it is not there."""

    path: str
    before: str | None = None
    after: str | None = None
