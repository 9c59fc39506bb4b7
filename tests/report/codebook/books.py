"""Codebooks as the content of their file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from synthesizer.measures.figure import plain
from synthesizer.report.codebook.write import (
    ReleaseCodebook,
    codebook_page,
    release_codebook,
    run_codebook,
)
from synthesizer.report.record import Manifest


def book(manifest: Manifest, paths: Sequence[Path]) -> dict[str, Any]:
    """Return the codebook of datasets and the manifest of their run."""
    return plain(release_codebook(manifest.public, paths))


def run_book(directory: Path) -> dict[str, Any]:
    """Return the codebook of a finished run."""
    return plain(run_codebook(directory))


def page_of(content: dict[str, Any]) -> str:
    """Return the page of what a codebook's file holds."""
    return codebook_page(ReleaseCodebook.model_validate(content))


def executed(code: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the example in the directory of the datasets and return its result."""
    monkeypatch.chdir(directory)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["result"]
