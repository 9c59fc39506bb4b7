"""What the command ``utility`` asks: its words, and what a configuration adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from synthesizer.config import Config
from synthesizer.config_checks import LimitConfig
from synthesizer.errors import ConfigError
from synthesizer.manifests import read_manifest
from synthesizer.risk_request import UTILITY_LIMITS, parse_names
from synthesizer.utility.combining import Rule, kind_problems, rule_for
from synthesizer.utility.formula_columns import Family
from synthesizer.utility.propensity_result import Model
from synthesizer.utility.wanted import FitRequest, Synthesis, UtilityMeasures

__all__ = ["AskedUtility", "asked_utility", "known_synthesis", "utility_limits"]


def known_synthesis(synthetic: Sequence[Path], settings: Config | None) -> Synthesis | None:
    """Say how synthetic files were made by their manifest, or a configuration; None if unknown."""
    for path in synthetic:
        manifest = read_manifest(path if path.is_dir() else path.parent)
        if manifest is not None:
            chain = [step for step in manifest.get("chain", []) if isinstance(step, dict)]
            kept = [s for s in chain if s.get("kept") or s.get("model") == "keep"]
            return Synthesis(
                proper=bool(manifest.get("config", {}).get("proper")),
                kept=tuple(str(step.get("variable")) for step in kept),
            )
    return None if settings is None else Synthesis(proper=settings.proper, kept=settings.keep)


@dataclass(frozen=True, kw_only=True)
class AskedUtility:
    """What the command line says; what it leaves out comes from a configuration, if there is one.

    Parameters
    ----------
    names : tuple of str or None
        Variables to compare; all that both sides have when None.
    ways : tuple of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of quantile groups of numeric variables in tables.
    models : tuple of {"logit", "cart"} or None
        Propensity models; both when neither the command nor a configuration names them.
    interactions, permutations : int or None
        Order of the logit's interactions; permutations for the null of ``cart``.
    formulas : tuple of str
        Models that a researcher might fit.
    family, rule, clusters, weights, offset
        Of these models; see `synthesizer.utility.compare_fit`. The rule is that of the kind of
        synthesis when None, as far as a manifest tells it.
    seed : int
        Decides the permutations.
    workers : int
        Threads of the trees.
    """

    names: tuple[str, ...] | None = None
    ways: tuple[int, ...] = (1, 2)
    groups: int = 5
    models: tuple[Model, ...] | None = None
    interactions: int | None = None
    permutations: int | None = None
    formulas: tuple[str, ...] = ()
    family: Family = "ols"
    rule: Rule | None = None
    clusters: str | None = None
    weights: str | None = None
    offset: str | None = None
    seed: int = 0
    workers: int = 1

    def measures(self, settings: Config | None, synthesis: Synthesis | None) -> UtilityMeasures:
        """Return what the command line says, and the configuration where it says nothing."""
        score = None if settings is None else settings.checks.propensity
        configured = score.models if score is not None and score.enabled else None
        fits = tuple(self._fits(settings, synthesis))
        problems = [
            problem
            for rule in dict.fromkeys(fit.rule for fit in fits)
            if synthesis is not None
            for problem in kind_problems(rule, proper=synthesis.proper, keeps=bool(synthesis.kept))
        ]
        if problems:
            raise ConfigError(f"--rule: {problem}" for problem in problems)
        found = UtilityMeasures(
            ways=self.ways,
            groups=self.groups,
            models=self.models or configured or ("logit", "cart"),
            fits=fits,
        )
        given = {
            name: getattr(self, name) if getattr(self, name) is not None else getattr(score, name)
            for name in ("interactions", "permutations")
            if getattr(self, name) is not None or score is not None
        }
        return replace(found, **given)

    def _fits(self, settings: Config | None, synthesis: Synthesis | None) -> Iterator[FitRequest]:
        known = synthesis or Synthesis()
        natural = rule_for(proper=known.proper, keeps=bool(known.kept))
        for formula in self.formulas:
            yield FitRequest(
                formula=formula,
                family=self.family,
                rule=self.rule or natural,
                clusters=self.clusters,
                weights=self.weights,
                offset=self.offset,
            )
        if settings is not None and not self.formulas:
            for fit in settings.checks.fits:
                yield FitRequest(
                    formula=fit.formula,
                    family=fit.family,
                    rule=fit.rule or natural,
                    clusters=fit.clusters,
                    weights=fit.weights,
                    offset=fit.offset,
                )


def asked_utility(*, ways: str, **words: Any) -> AskedUtility:
    """Read the words of the command line.

    Raises
    ------
    ConfigError
        With every word that is unknown.

    Examples
    --------
    >>> asked_utility(ways="1,3", models=("cart",)).ways
    (1, 3)
    """
    orders = parse_names(ways) or ()
    problems = []
    if not orders or not set(orders) <= {"1", "2", "3"}:
        problems.append(f"--ways ({ways}) must be of 1, 2 and 3, such as 1,2")
    for option, known, values in (
        ("model", get_args(Model), words.get("models") or ()),
        ("family", get_args(Family), [words["family"]] if "family" in words else []),
        ("rule", get_args(Rule), [words["rule"]] if words.get("rule") else []),
    ):
        problems += [
            f"--{option} ({value}) must be one of {', '.join(known)}"
            for value in values
            if value not in known
        ]
    if problems:
        raise ConfigError(problems)
    return AskedUtility(ways=tuple(sorted({int(order) for order in orders})), **words)


def utility_limits(settings: Config | None) -> tuple[LimitConfig, list[str]]:
    """Return the limits that are about utility, and which others are not looked at."""
    limits = LimitConfig() if settings is None else settings.limits
    others = [
        name
        for name in type(limits).model_fields
        if name not in UTILITY_LIMITS and getattr(limits, name) is not None
    ]
    notes = [f"limits.{name} is not looked at here (risk)" for name in others]
    return limits.model_copy(update=dict.fromkeys(others)), notes
