"""Where a comparison may be written: not twice to one file, and over nothing that it is made of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from synthesizer.errors import OutputError
from synthesizer.manifests import read_manifest
from synthesizer.output import check_file, sha256
from synthesizer.report.record import mappings, words
from synthesizer.runs.points import RunPoint

__all__ = ["confidential_problems", "target_problems"]

OF_EVERY_RUN = ("manifest.json", "checks.json", "report.html")


def target_problems(
    page: Path, numbers: Path | None, directories: Sequence[str | Path], *, overwrite: bool
) -> list[str]:
    """Say what stands against writing a comparison, before any work is done.

    Parameters
    ----------
    page : Path
        HTML file.
    numbers : Path or None
        JSON file.
    directories : sequence of path
        The runs that are compared.
    overwrite : bool
        Whether existing files may be replaced.
    """
    targets = [page] if numbers is None else [page, numbers]
    problems = [told for path in targets for told in _file_problems(path, overwrite=overwrite)]
    if numbers is not None and _real(page) == _real(numbers):
        problems.append(
            f"{numbers}: is named twice, for the page (--out) and for the numbers (--json); name "
            "two files"
        )
    for directory in map(Path, directories):
        files = set(_files_of(directory))
        problems += [
            f"{path}: is a file of the run {directory}, which is compared; name another file"
            for path in targets
            if _real(path) in files
        ]
    return list(dict.fromkeys(problems))


def confidential_problems(targets: Sequence[Path], points: Sequence[RunPoint]) -> list[str]:
    """Say which files to be replaced hold the data that the runs were made from.

    Parameters
    ----------
    targets : sequence of Path
        Files that may be replaced.
    points : sequence of RunPoint
        The runs.
    """
    known = {point.fingerprint for point in points}
    return [
        f"{path}: holds the data that the runs were made from; name another file"
        for path in targets
        if path.is_file() and sha256(path) in known
    ]


def _file_problems(path: Path, *, overwrite: bool) -> Sequence[str]:
    try:
        check_file(path, overwrite=overwrite)
    except OutputError as error:
        return error.problems
    return ()


def _files_of(directory: Path) -> Iterator[str]:
    """Yield the real paths of the files of a run, whether they are there or not."""
    entries = mappings(read_manifest(directory), "files")
    for name in (*OF_EVERY_RUN, *(words(entry, "name") for entry in entries)):
        yield _real(directory / name)


def _real(path: Path) -> str:
    return os.path.realpath(path)
