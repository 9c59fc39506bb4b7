"""The codebook that goes to researchers with the synthetic datasets.

It holds no number computed from confidential data: it is made from the datasets themselves
(`codebook.datasets`) and from what a manifest may tell (`codebook.facts`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synthesizer.data.errors import DataError, OutputError
from synthesizer.data.files import check_file, sha256
from synthesizer.measures.figure import plain
from synthesizer.report.codebook.analysis import analysis
from synthesizer.report.codebook.cautions import cautions, evolved_cautions, synthesis_words
from synthesizer.report.codebook.codebook_page import codebook_page
from synthesizer.report.codebook.datasets import read_released
from synthesizer.report.codebook.facts import facts_of
from synthesizer.report.codebook.words import described, imposed, tilted, unmodelled
from synthesizer.report.record import Manifest, manifest_in

NAMES = ("codebook.html", "codebook.json")
"""The files that are written."""

PURPOSE = (
    "For release with the synthetic datasets. Every number here was computed from the synthetic "
    "datasets or set by the data holder."
)


def is_result(path: Path) -> bool:
    """Tell whether a path is the result directory of a run, not a data file."""
    return (path / "manifest.json").is_file()


def run_codebook(run: Path) -> dict[str, Any]:
    """Return the codebook of a finished run, see `release_codebook`.

    Parameters
    ----------
    run : Path
        Result directory of `run` or `generate`, with ``manifest.json`` and all datasets.

    Raises
    ------
    DataError
        If the directory is no result, or its datasets are missing, changed or not as the manifest
        says, with every problem.
    """
    manifest = manifest_in(run)
    if manifest is None:
        raise DataError(
            f"{run}: is no result of a run: it has no manifest.json; name the directory that "
            "'synthesizer run' wrote"
        )
    return release_codebook(manifest, _verified(run, manifest))


def write_run_codebook(run: Path, out: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write the codebook of a finished run into a directory, which is made if it is not there.

    Parameters
    ----------
    run : Path
        As in `run_codebook`.
    out : Path
        Another directory; ``codebook.html`` and ``codebook.json`` are written, whole or not at
        all.
    overwrite : bool
        Replace them if they are there.

    Raises
    ------
    DataError
        As in `run_codebook`.
    OutputError
        If the files cannot be written, or are there already.
    """
    _check_output(run, out, overwrite=overwrite)
    texts = _texts(run_codebook(run))
    parts = {name: out / f".{name}.partial-{os.getpid()}" for name in texts}
    try:
        out.mkdir(exist_ok=True)
        for name, part in parts.items():
            part.write_text(texts[name], encoding="utf-8")
        for name, part in parts.items():
            os.replace(part, out / name)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OutputError(f"{out}: the codebook cannot be written ({reason})") from error
    finally:
        for part in parts.values():
            if out.is_dir():
                part.unlink(missing_ok=True)
    return tuple(out / name for name in texts)


def write_release_codebook(work: Path, manifest: Manifest) -> list[str]:
    """Write the codebook into the directory of a run that is being written; return the names.

    The manifest lists the datasets that are in ``work`` already.
    """
    paths = [work / name for name in manifest.datasets]
    for name, text in _texts(release_codebook(manifest, paths)).items():
        (work / name).write_text(text, encoding="utf-8")
    return list(NAMES)


def release_codebook(manifest: Manifest, paths: Sequence[Path]) -> dict[str, Any]:
    """Return the codebook as plain values, the content of ``codebook.json``.

    Parameters
    ----------
    manifest : Manifest
        Of the run; most of it stays unread, see `synthesizer.report.codebook.facts`.
    paths : sequence of Path
        The synthetic datasets, at least one.

    Returns
    -------
    dict
        ``format`` (1), ``purpose``, and

        - ``datasets``: ``files`` (names), ``rows`` (of each), ``format`` (``type``, and for CSV
          files ``delimiter``, ``encoding``, ``decimal_mark``);
        - ``synthesis``: ``words`` (paragraphs), ``kept``, ``strata`` (names), ``proper``,
          ``evolved`` (what whole datasets were evolved from: mutants, chain or files; null where
          they were not), ``even`` (whether draws of trees were spread evenly; null where no tree
          was used, not inside another model either), ``rules``, ``forbidden``, ``support``,
          ``paths`` (sentences on what was imposed: values that were set, conditions that no record
          fulfils, limited combinations, and what no person does from period to period; empty
          where records were evolved that no model drew), ``packages`` (versions);
        - ``variables``: in file order, each with ``name``, ``label``, ``unit`` (empty where the
          configuration has none), ``kind``, ``decimals`` (null: no fixed precision),
          ``date_format``, ``range`` (``low``, ``high``: numbers or ISO dates; null where there are
          none), ``levels`` (``level``, ``label``, ``share``), ``missing`` (``code``, ``label``,
          ``share``; the code "" is an empty cell), ``made`` (``how``: drawn, independent, kept,
          derived, constant, numbered or evolved; ``words``, ``model``, ``base`` (models inside
          it), ``predictors``, ``options``) and ``not_modelled_with`` (names). A ``share`` is of
          all records of all datasets, in [0, 1]; 0 for what the configuration lists and no record
          has; null for labelled numbers;
        - ``analysis``: the combining rule: ``rule``, ``name``, ``formula``, ``source`` (``rule``,
          ``formula`` and ``source`` null where datasets were evolved: no rule holds for them),
          ``applies`` (false where it needs more datasets, or there is none), ``m``, ``k`` (records
          of each dataset; persons, where they have several rows), ``n`` (those of the original if
          equal to k, else null), ``words``, ``code`` (null where the rule does not apply);
        - ``cautions``: what not to conclude, ``title`` and ``text``.

    Raises
    ------
    DataError
        If datasets cannot be read or are not as the manifest says, with every problem.
    """
    facts = facts_of(plain(manifest))
    if not facts.steps or not paths:
        raise DataError(
            "manifest.json does not list datasets and the chain that made them; write the result "
            "again with 'synthesizer run'"
        )
    released = read_released(paths, facts)
    facts = facts.only(released.variables)
    apart, trees, leaning = unmodelled(facts), facts.trees(), tilted(facts, released)
    return {
        "format": 1,
        "purpose": PURPOSE,
        "datasets": {
            "files": list(released.files),
            "rows": list(released.rows),
            "format": dict(vars(released.format)),
        },
        "synthesis": {
            "words": synthesis_words(facts),
            "kept": [step.variable for step in facts.steps if step.kept],
            "strata": list(facts.strata) if facts.is_modelled else [],
            "proper": facts.proper,
            "evolved": None if facts.evolution is None else facts.evolution.start,
            "even": any(own.even for own in trees.values()) if trees else None,
            **imposed(facts),
            "packages": dict(facts.packages),
        },
        "variables": [
            described(name, seen, sum(released.rows), facts, is_tilted=name in leaning)
            | {"not_modelled_with": others}
            for name, seen in released.variables.items()
            for others in [apart.get(name, [])]
        ],
        "analysis": analysis(facts, released),
        "cautions": cautions(facts, released, apart)
        if facts.is_modelled
        else evolved_cautions(facts, released),
    }


def _texts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of every file."""
    plain = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    texts = (codebook_page(content), plain)
    # half a surrogate pair, from an escape in the configuration, cannot be written to a file
    sound = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    return dict(zip(NAMES, sound, strict=True))


def _check_output(run: Path, out: Path, *, overwrite: bool) -> None:
    if out.resolve() == run.resolve():
        raise OutputError(
            f"{out}: is the result itself, whose files are listed in its manifest; name another "
            "directory (-o)"
        )
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file, not a directory; name a directory (-o)")
    if not out.absolute().parent.is_dir():
        raise OutputError(f"{out}: there is no directory {out.absolute().parent}; make it first")
    problems: list[str] = []
    for name in NAMES if out.exists() else ():
        try:
            check_file(out / name, overwrite=overwrite)
        except OutputError as error:
            problems += error.problems
    if problems:
        raise OutputError(problems)


def _verified(run: Path, manifest: Manifest) -> list[Path]:
    """Return the datasets, after a look whether they are those that the manifest lists."""
    names = manifest.datasets
    hashes = {file.name: file.sha256 for file in manifest.files}
    problems = _unlisted(run, names)
    for name in names:
        path = run / name
        if not path.is_file():
            problems.append(f"{path}: is missing, the result is not complete; run again")
        elif sha256(path) != hashes[name]:
            problems.append(
                f"{path}: is not the file that manifest.json lists; the codebook would describe "
                "something else: restore the file or run again"
            )
    if problems:
        raise DataError(problems)
    return [run / name for name in names]


def _unlisted(run: Path, names: Sequence[str]) -> list[str]:
    """Say which datasets lie in the directory of a result and are not in its list."""
    found = sorted(path.name for path in run.glob("synthetic_*") if path.is_file())
    return [
        f"{run / 'manifest.json'}: files: does not list {name!r}, which is in the directory; the "
        "codebook would leave it out: restore the entry, or take the file out"
        for name in found
        if names and name not in names
    ]
