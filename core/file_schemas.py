"""JSON Schemas as text: of what people write and of what is stored."""

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

DRAFT = "https://json-schema.org/draft/2020-12/schema"
VERSION = "v1"


def file_name(name: str) -> str:
    """The file that a schema is published in."""
    return f"{name}.{VERSION}.schema.json"


def schema_text(name: str, of: type[BaseModel] | TypeAdapter[Any]) -> str:
    """The text of one published schema, made from a model of this version."""
    made = of.json_schema() if isinstance(of, TypeAdapter) else of.model_json_schema()
    schema = {"$schema": DRAFT, "$id": file_name(name), **made}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
