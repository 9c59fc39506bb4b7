"""The utility of files, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.attempts import Attempts
from synthesizer.check_results import CheckResults, exceeded_limits
from synthesizer.compared_files import ComparedFiles, read_compared
from synthesizer.config import Config
from synthesizer.config_checks import LimitConfig
from synthesizer.config_reading import load_config
from synthesizer.evaluation import evaluate
from synthesizer.output import write_secret
from synthesizer.panel_checks import PanelChecks
from synthesizer.panel_files import panel_files
from synthesizer.panel_fits import RowFits, split_fits
from synthesizer.progress import Listener, silent
from synthesizer.randomness import Seed
from synthesizer.risk.result import RiskResult
from synthesizer.risk_request import UTILITY_LIMITS
from synthesizer.utility.panel_result import PanelResult
from synthesizer.utility.result import UtilityResult
from synthesizer.utility.wanted import UtilityMeasures
from synthesizer.utility_request import AskedUtility, known_synthesis, utility_limits

__all__ = ["FileUtility", "evaluate_files"]


@dataclass(frozen=True)
class FileUtility:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    utility: UtilityResult
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    files: tuple[Mapping[str, str], ...]
    seed: int
    panel: PanelResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "exceeded": list(self.exceeded),
            **self.utility.to_dict(),
            **({} if self.panel is None else {"panel": self.panel.to_dict()}),
            "notes": [*self.notes, *self.utility.notes],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def evaluate_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    asked: AskedUtility,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileUtility:
    """Compute every utility measure of files, whoever made them; write them if asked to.

    Parameters
    ----------
    original, synthetic : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    asked : AskedUtility
        Variables, models and the like.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its propensity models,
        fits and limits. With a panel persons, careers and histories are compared.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    settings = None if config is None else load_config(config)
    synthesis = known_synthesis(synthetic, settings)
    measures = asked.measures(settings, synthesis)
    files = read_compared(original, synthetic, config=config, out=out, overwrite=overwrite)
    evaluated = partial(
        evaluate,
        names=asked.names,
        synthesis=synthesis,
        seed=asked.seed,
        n_jobs=asked.workers,
        listener=listener,
    )
    panel: PanelResult | None = None
    further: tuple[str, ...] = ()
    if settings is not None and settings.panel is not None:
        utility, panel, further = _of_persons(files, settings, measures, asked.seed, evaluated)
    else:
        declared = None if settings is None else settings.declarations()
        pair = (files.original, files.synthetic)
        utility = evaluated(*pair, measures=measures, declared=declared)
    limits, notes = utility_limits(settings)
    notes += further
    results = CheckResults(risk=RiskResult(), utility=utility, panel=panel, failed=utility.failed)
    if synthesis is None and measures.fits and asked.rule is None:
        notes.append(
            "no manifest or configuration says how the data were synthesised: rule simple takes "
            "all values as drawn with fixed parameters; name another one (--rule) if they were not"
        )
    found = FileUtility(
        utility,
        (*files.notes, *notes),
        (*exceeded_limits(results, limits), *_not_assessed(utility, limits)),
        files.entries,
        asked.seed,
        panel,
    )
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _of_persons(
    files: ComparedFiles,
    config: Config,
    measures: UtilityMeasures,
    seed: int,
    evaluated: Callable[..., UtilityResult],
) -> tuple[UtilityResult, PanelResult | None, tuple[str, ...]]:
    """Compare persons, careers and histories, and fit models to rows, as a run does."""
    found = panel_files(files, config)
    original, synthetic = found.panels
    person = None if config.panel is None else config.panel.person
    fits, row_fits = split_fits(measures.fits, original.panel, person)
    utility = evaluated(found.original, found.synthetic, measures=replace(measures, fits=fits))
    checks = PanelChecks(
        original,
        found.frame,
        sequences=config.checks.sequences,
        careers=False,
        generator=lambda: Seed(seed).generator("sequences"),
        attempts=Attempts(),
    )
    rows = RowFits(original.panel, row_fits, person)
    for made in synthetic:
        checks.add(made)
        rows.add(made.panel)
    utility = rows.joined(utility)
    return utility, checks.sequences, found.notes


def _not_assessed(utility: UtilityResult, limits: LimitConfig) -> Iterator[str]:
    """Say that limits do not hold for variables that could not be compared."""
    columns = [name for name in utility.failed if name.startswith("column ")]
    limited = [name for name in UTILITY_LIMITS if getattr(limits, name) is not None]
    if columns and limited:
        yield (
            f"{', '.join(f'limits.{name}' for name in limited)}: {', '.join(columns)} could not be "
            "compared, so they count as above"
        )
