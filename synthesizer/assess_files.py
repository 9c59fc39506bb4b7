"""The disclosure risk of files, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.assessment import assess
from synthesizer.attempts import Attempts
from synthesizer.check_results import CheckResults, exceeded_limits
from synthesizer.compared_files import ComparedFiles, read_compared
from synthesizer.config import Config
from synthesizer.config_reading import load_config
from synthesizer.data.pairs import Data
from synthesizer.figures import in_units
from synthesizer.output import write_secret
from synthesizer.panel_checks import PanelChecks
from synthesizer.panel_files import PanelFiles, panel_files
from synthesizer.progress import Listener, silent
from synthesizer.randomness import Seed
from synthesizer.risk.result import RiskResult
from synthesizer.risk_request import Asked, RiskPlan

__all__ = ["FileRisk", "assess_files"]


@dataclass(frozen=True)
class FileRisk:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    risk: RiskResult
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
            **self.risk.to_dict(),
            "notes": [*self.notes, *(in_units(n, self.risk.units) for n in self.risk.notes)],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def assess_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    asked: Asked,
    control: Path | None = None,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileRisk:
    """Compute every risk measure of files, whoever made them; write them if asked to.

    Parameters
    ----------
    original, synthetic, control : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    asked : Asked
        Keys, target and the like.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its checks (but the half
        split, which needs the synthesis) and their limits. With a panel persons are compared.
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
    plan = RiskPlan.of(asked, settings)
    files = read_compared(
        original, synthetic, control=control, config=config, out=out, overwrite=overwrite
    )
    panel = None if settings is None or settings.panel is None else panel_files(files, settings)
    risk = assess(
        *_pair(files, panel),
        keys=plan.main.keys or None,
        target=plan.main.target or None,
        groups=plan.main.groups,
        tolerance=plan.main.tolerance,
        exclude=plan.main.exclude,
        scenarios=plan.further,
        questions=plan.questions,
        control=files.control if panel is None else panel.control,
        by=plan.by,
        units=plan.units,
        with_attacks=plan.attacks,
        measures=plan.measures,
        declared=None if settings is None else settings.declarations(),
        seed=asked.seed,
        listener=listener,
    )
    if panel is not None and settings is not None:
        risk = _with_careers(risk, panel, settings, asked.seed)
    results = CheckResults(risk=risk, utility=None, failed=risk.failed)
    notes = (*files.notes, *plan.notes, *_suggestion(risk))
    notes = notes if panel is None else (*notes, *panel.notes)
    exceeded = exceeded_limits(results, plan.limits)
    found = FileRisk(risk, notes, exceeded, files.entries, asked.seed)
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _pair(files: ComparedFiles, panel: PanelFiles | None) -> tuple[Data, Sequence[Data]]:
    """Return what is compared: the records, or the persons of a panel."""
    if panel is None:
        return files.original, files.synthetic
    return panel.original, panel.synthetic


def _with_careers(risk: RiskResult, panel: PanelFiles, config: Config, seed: int) -> RiskResult:
    """Count replicated careers as a run does."""
    attempts = Attempts()
    checks = PanelChecks(
        panel.original,
        panel.frame,
        sequences=False,
        careers=config.checks.replicated_careers,
        generator=lambda: Seed(seed).generator("sequences"),
        attempts=attempts,
    )
    for made in panel.synthetic:
        checks.add(made)
    return replace(risk, careers=checks.careers, failed={**risk.failed, **attempts.failed})


def _suggestion(risk: RiskResult) -> list[str]:
    main = risk.main
    suggested = main is not None and main.scenario.reason != "as asked for"
    if main is None or not suggested:
        return []
    return [in_units(main.scenario.reason, risk.units)]
