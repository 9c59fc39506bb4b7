"""What the command ``risk`` asks: its words, and what a configuration adds to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from synthesizer.assessment_inputs import Question
from synthesizer.config import Config
from synthesizer.config_checks import CheckConfig, LimitConfig
from synthesizer.config_panel import PanelConfig
from synthesizer.data.codes import Groups
from synthesizer.errors import ConfigError
from synthesizer.plan_scenario import configured_scenario
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suite import Measures

__all__ = ["Asked", "RiskPlan", "parse_groups", "parse_names"]

UTILITY_LIMITS = ("mean_two_way", "worst_two_way", "worst_one_way", "pmse_ratio", "sequence_ratio")
HALF_LIMITS = ("differential_confidentiality", "worst_group", "nearer_share", "attack_risk")
"""Limits that cannot be looked at without a control file."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says; what it leaves out comes from a configuration, if there is one.

    Parameters
    ----------
    keys, target : tuple of str and str, or None
        What an intruder knows and seeks.
    groups : mapping of str to int or sequence of float
        Number of quantile groups, or cut points, of numeric variables.
    sensitive, public, positive, baseline
        See `synthesizer.assessment.Question`.
    by, units : str or None
        Variable among whose groups the worst is looked for, and that names the persons.
    tau : float or None
        TCAP: share of one target value that a class must have.
    max_size, sampling_fraction : int and float, or None
        SUDA: largest set of keys that is looked at, and share of the population that the data
        hold.
    control : bool
        Whether there is a control file.
    attacks : bool
        Whether to run anonymeter's attacks.
    seed : int
        Decides everything that is random.
    """

    keys: tuple[str, ...] | None = None
    target: str | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    sensitive: str | None = None
    public: tuple[str, ...] = ()
    positive: str | None = None
    baseline: tuple[str, ...] = ()
    by: str | None = None
    units: str | None = None
    tau: float | None = None
    max_size: int | None = None
    sampling_fraction: float | None = None
    control: bool = False
    attacks: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RiskPlan:
    """What the command line and the configuration say together."""

    main: Scenario
    further: tuple[Scenario, ...]
    questions: tuple[Question, ...]
    measures: Measures
    by: str | None
    units: str | None
    attacks: bool
    limits: LimitConfig
    notes: tuple[str, ...]

    @classmethod
    def of(cls, asked: Asked, settings: Config | None) -> RiskPlan:
        """Take from the configuration what the command line does not say."""
        checks = CheckConfig() if settings is None else settings.checks
        limits = LimitConfig() if settings is None else settings.limits
        main = configured_scenario(checks)
        questions = _questions(asked, checks)
        half = checks.differential_confidentiality
        panel = None if settings is None else settings.panel
        units = asked.units or (half.units if asked.control else None)
        known = (asked.keys or main.keys, asked.target or main.target)
        groups = {name: wanted for name, wanted in asked.groups.items() if name in _names(*known)}
        _check_groups(asked, known, questions)
        utility = [name for name in UTILITY_LIMITS if getattr(limits, name) is not None]
        halved = [name for name in HALF_LIMITS if getattr(limits, name) is not None]
        dropped = [*utility, *([] if asked.control else halved)]
        return cls(
            main=replace(main, keys=known[0], target=known[1], groups=groups or main.groups),
            further=tuple(configured_scenario(part) for part in checks.scenarios),
            questions=questions,
            measures=_measures(asked, checks),
            by=asked.by or (half.by if asked.control else None),
            units=units if panel is None else None,
            attacks=asked.attacks or (asked.control and checks.attacks.enabled),
            limits=limits.model_copy(update=dict.fromkeys(dropped)),
            notes=(
                *_unit_notes(asked, panel),
                *(
                    f"limits.{name} is not looked at here ("
                    f"{'utility' if name in UTILITY_LIMITS else 'needs --control'})"
                    for name in dropped
                ),
            ),
        )


def _unit_notes(asked: Asked, panel: PanelConfig | None) -> Iterator[str]:
    """Say that persons are counted already; refuse others than those of the panel."""
    if asked.units is None or panel is None:
        return
    if asked.units != panel.person:
        who = "one row is one person" if panel.person is None else f"they are {panel.person!r}"
        raise ConfigError(
            f"--units {asked.units}: the panel of the configuration says who the persons are "
            f"({who}); take it out"
        )
    yield f"--units {asked.units} is not needed: by the panel of the configuration persons count"


def _names(keys: Sequence[str], target: str) -> set[str]:
    return {*keys, target}


def _check_groups(
    asked: Asked, known: tuple[tuple[str, ...], str], questions: Sequence[Question]
) -> None:
    used = _names(*known).union(*(question.names for question in questions))
    unused = [name for name in asked.groups if name not in used]
    if unused and all(known):
        raise ConfigError(
            f"--groups: {name!r} is neither a key nor target, sensitive or public; take it out"
            for name in unused
        )


def _measures(asked: Asked, checks: CheckConfig) -> Measures:
    """Return what the configuration switches on, with the command line's settings."""
    return Measures(
        cap=checks.cap,
        suda=checks.suda.enabled,
        identity=checks.identity,
        attribute=checks.attribute,
        differential=checks.differential_confidentiality.enabled,
        nearest=checks.nearest,
        replicated=checks.replicated_uniques,
        attempts=checks.attacks.attempts,
        tau=checks.tau if asked.tau is None else asked.tau,
        max_size=checks.suda.max_size if asked.max_size is None else asked.max_size,
        sampling_fraction=(
            checks.suda.sampling_fraction
            if asked.sampling_fraction is None
            else asked.sampling_fraction
        ),
    )


def _questions(asked: Asked, checks: CheckConfig) -> tuple[Question, ...]:
    if asked.sensitive is not None:
        names = {asked.sensitive, *asked.public}
        own = Question(
            sensitive=asked.sensitive,
            public=asked.public,
            positive=asked.positive,
            baseline=asked.baseline,
            groups={name: wanted for name, wanted in asked.groups.items() if name in names},
        )
        return (own,)
    given = {"public": asked.public, "positive": asked.positive, "baseline": asked.baseline}
    lone = [f"--{name}" for name, value in given.items() if value]
    if lone:
        raise ConfigError(f"{', '.join(lone)}: needs --sensitive, a variable to be inferred")
    return tuple(
        Question(
            sensitive=part.sensitive,
            public=part.public,
            positive=part.positive,
            baseline=part.baseline or (),
            groups=part.groups,
        )
        for part in checks.inference
    )


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``age, sex``; names with a comma stand in backticks; None where nothing is named.

    Examples
    --------
    >>> parse_names("age, `height, cm`"), parse_names("")
    (('age', 'height, cm'), None)
    """
    names = tuple(_parts(text))
    if text and not names:
        raise ConfigError("names must look like A,B,C")
    return names or None


def _parts(text: str | None) -> Iterator[str]:
    if (text or "").count("`") % 2:
        raise ConfigError("a backtick is not closed: names with a comma stand between two")
    for quoted, plain in re.findall(r"`([^`]+)`|([^,`]+)", text or ""):
        if name := quoted or plain.strip():
            yield name


def parse_groups(text: str | None) -> dict[str, Groups]:
    """Read ``age=5,pay=1000/2000``: numbers of quantile groups, or cut points, by variable.

    Examples
    --------
    >>> parse_groups("age=5, pay=1000/2000")
    {'age': 5, 'pay': (1000.0, 2000.0)}
    """
    groups: dict[str, Groups] = {}
    for quoted, plain, wanted in re.findall(r"(?:`([^`]+)`|([^,=`]+))(?:=([^,]*))?", text or ""):
        name = quoted or plain.strip()
        if name in groups:
            raise ConfigError(f"--groups names {name!r} twice; keep one")
        if name:
            groups[name] = _wanted(wanted.strip())
    return groups


def _wanted(text: str) -> Groups:
    try:
        if text.isdigit() and int(text) >= 1:
            return int(text)
        cuts = tuple(float(part) for part in text.split("/"))
        if "/" in text or "." in text:
            return cuts
    except ValueError:
        pass
    raise ConfigError(
        "--groups must look like age=5,pay=100/200: variables with numbers of groups or cut points"
    )
