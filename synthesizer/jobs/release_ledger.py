"""The ledger of releases: a file beside the source that lists the runs of this source.

The ledger of ``people.csv`` is the confidential file ``people.csv.releases.json``. A run adds its
entry after its result is written. Runs and checks measure the joint risk of all releases in it.
The command 'synthesizer releases' sets ``given_out`` of an entry; a release that was not given out
is not counted. Each entry has the digest of the source, whose copies have other ledgers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, Literal

from synthesizer.data.errors import DataError, OutputError, SynthesizerError
from synthesizer.data.files import held, parse_json, read_text, write_texts
from synthesizer.jobs.manifest import drawn_from
from synthesizer.measures.figure import Result, plain, typed
from synthesizer.measures.risk.guesses import Guesses
from synthesizer.measures.risk.near_verbatim import NearVerbatim
from synthesizer.measures.risk.releases import Release, Together, others_of
from synthesizer.measures.verdict import CheckResults
from synthesizer.plan.plan import Plan
from synthesizer.report.record import MANIFEST, Manifest

_ATTEMPTS, _PAUSE = 400, 0.05
"""Attempts, and seconds between them, while another run writes."""


class Ledger(Result):
    """The content of a ledger."""

    confidential: str = "not for release with the datasets"
    about: str = "given_out: true or false; null: given out unless a later run replaces it"
    format: Literal[1] = 1
    releases: tuple[Release, ...] = ()


def ledger_of(source: Path | None) -> Path | None:
    """Return the path of a source's ledger; None if the source is no file or is a release."""
    path = None if source is None else Path(os.path.realpath(source))
    if path is None or (path.parent / MANIFEST).exists():
        return None
    return path.with_name(f"{path.name}.releases.json")


def read_releases(source: Path | None) -> tuple[Release, ...]:
    """Return the releases in the ledger of a source; raises DataError if it is damaged."""
    path = ledger_of(source)
    if path is None or not os.path.lexists(path):
        return ()
    try:
        return typed(Ledger, parse_json(read_text(path))).releases
    except (OSError, ValueError, RecursionError):
        raise DataError(
            f"{path}: the ledger of releases cannot be read; restore a copy, or move it "
            "away: then the releases that it lists no longer count"
        ) from None


def release_of(manifest: Manifest, results: CheckResults, directory: Path) -> Release:
    """Return the entry of a run, whose manifest names its files."""
    files = {f.name: f.sha256 for f in manifest.files if f.name in manifest.datasets}
    limits = manifest.config.get("limits") or {}
    verbatim, guessed = map(results.risk.further.get, ("near_verbatim", "guesses"))
    return Release(
        created=manifest.created, directory=os.path.realpath(directory), datasets=files,
        settings=hashlib.sha256(drawn_from(manifest).encode()).hexdigest(), records=manifest.rows,
        limits={key: limits[key] for key in ("profile", "purpose", "release") if key in limits},
        looks=verbatim.looks if isinstance(verbatim, NearVerbatim) else (),
        guess=guessed.guesses[0] if isinstance(guessed, Guesses) else None,
        contains=manifest.contains,
        source=manifest.data.sha256 or "",
    )  # fmt: skip


def _added(releases: tuple[Release, ...], new: Release) -> tuple[Release, ...]:
    """Return the releases with a new one at the end, without earlier ones of its directory."""
    others = []
    for old in releases:
        if (old.directory, old.datasets) == (new.directory, new.datasets):
            new = new.model_copy(update={"given_out": old.given_out})
        else:
            is_replaced = old.replaced or old.directory == new.directory
            others.append(old.model_copy(update={"replaced": is_replaced}))
    return (*others, new)


def releases_of(plan: Plan) -> tuple[Release, ...]:
    """Return the releases of a run's source, and of the source of the run that it extends."""
    other = plan.making.contained
    data = {} if other is None else other.config.get("data") or {}
    before = read_releases(Path(data["path"])) if data.get("path") else ()
    return (*before, *read_releases(plan.data.path))


def beside_others(results: CheckResults, plan: Plan, new: Release) -> CheckResults:
    """Return the results of a run with the joint risk of all releases of its source."""
    releases = _added(releases_of(plan), new)[:-1]
    return with_others(results, others_of(releases, (*new.datasets.values(), *new.contains)))


def with_others(
    results: CheckResults, others: tuple[Release, ...], counted: Any = None
) -> CheckResults:
    """Return results with the joint risk of other releases of the source, if there are any."""
    together = Together(others=others, counted=counted) if others else None
    risk = results.risk.model_copy(update={"releases": together})
    return results.model_copy(update={"risk": risk})


def list_release(source: Path | None, new: Release) -> Iterator[str]:
    """Add a run to the ledger of its source; yield a note if this fails."""
    path = ledger_of(source)
    # runs of a frontier are not released
    if path is None or source is None or Path(new.directory, "..", "grid.json").exists():
        return
    try:
        _write(path, source, partial(_added, new=new))
    except (OSError, SynthesizerError) as error:
        why = "; ".join(getattr(error, "problems", [f"{source}: {error}"]))
        yield f"releases: this run is not in the ledger, so later runs cannot count it ({why})"


def mark_given_out(source: Path, given: Sequence[Path], not_given: Sequence[Path] = ()) -> None:
    """Record whether the last releases of directories were given out.

    Raises DataError for a directory that the ledger of the source does not list.
    """
    marks = {os.path.realpath(path): path in given for path in (*given, *not_given)}

    def marked(releases: tuple[Release, ...]) -> tuple[Release, ...]:
        changed, last = [*releases], {one.directory: n for n, one in enumerate(releases)}
        for directory, mark in marks.items():
            if directory not in last:
                raise DataError(f"{directory}: 'synthesizer releases {source}' does not list it")
            number = last[directory]
            changed[number] = releases[number].model_copy(update={"given_out": mark})
        return tuple(changed)

    path = ledger_of(source)
    if path is not None and marks:
        _write(path, source, marked)


def _write(path: Path, source: Path, change: Callable[..., tuple[Release, ...]]) -> None:
    """Change the releases of a ledger while it is locked."""
    for _ in range(_ATTEMPTS):
        with held(source) as is_free:
            if is_free:
                content = plain(Ledger(releases=change(read_releases(source))))
                text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
                return write_texts({path: f"{text}\n"}, overwrite=True)
        sleep(_PAUSE)
    raise OutputError(f"{path}: another process has locked {source}; run again later")
