"""The utility of files, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.check_results import CheckResults, exceeded_limits
from synthesizer.compared_files import read_compared
from synthesizer.config_checks import LimitConfig
from synthesizer.config_reading import load_config
from synthesizer.evaluation import evaluate
from synthesizer.output import write_secret
from synthesizer.progress import Listener, silent
from synthesizer.risk.result import RiskResult
from synthesizer.risk_request import UTILITY_LIMITS
from synthesizer.utility.result import UtilityResult
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "exceeded": list(self.exceeded),
            **self.utility.to_dict(),
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
        fits and limits.
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
    utility = evaluate(
        files.original,
        files.synthetic,
        names=asked.names,
        measures=measures,
        synthesis=synthesis,
        declared=None if settings is None else settings.declarations(),
        seed=asked.seed,
        n_jobs=asked.workers,
        listener=listener,
    )
    limits, notes = utility_limits(settings)
    results = CheckResults(risk=RiskResult(), utility=utility, failed=utility.failed)
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
    )
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _not_assessed(utility: UtilityResult, limits: LimitConfig) -> Iterator[str]:
    """Say that limits do not hold for variables that could not be compared."""
    columns = [name for name in utility.failed if name.startswith("column ")]
    limited = [name for name in UTILITY_LIMITS if getattr(limits, name) is not None]
    if columns and limited:
        yield (
            f"{', '.join(f'limits.{name}' for name in limited)}: {', '.join(columns)} could not be "
            "compared, so they count as above"
        )
