"""What has happened to the files of a run since it was written: changed, lost, unreadable."""

from __future__ import annotations

from pathlib import Path

from synthesizer.errors import DataError
from synthesizer.report_files import read_record

__all__ = ["run_gaps"]


def run_gaps(directory: Path) -> tuple[str, ...]:
    """Say which files of a run are missing or no longer what its manifest knows; empty if none.

    Parameters
    ----------
    directory : Path
        Result directory of a run.
    """
    try:
        found = read_record(directory).gaps
    except DataError as error:
        return error.problems
    except (OSError, ValueError) as error:
        file = getattr(error, "filename", None)
        name = Path(file).name if isinstance(file, str | Path) else "some file"
        return (f"{name} cannot be compared with the manifest; check that it can be read",)
    return tuple(f"{gap.what} is missing: {gap.why}" for gap in found)
