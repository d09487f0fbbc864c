"""What all forms of Lineage files have in common: unknown fields are refused, and a form never changes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
