"""The figures by which runs are compared: what they are, and when two runs share one axis.

A figure of risk belongs to a question: the same keys, target and groups. Two runs that asked
different questions, or of different data, are never put on one axis (`Measure.scope`). Nor are two
runs whose datasets differ in size, where the figure depends on it (`Measure.same_rows`): S_pMSE is
a distance times a number of records, and the fewer synthetic records there are the fewer originals
find a match, so that the smallest file would seem the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from synthesizer.measures.figure import Units, in_units

Scope = Literal["data", "datasets", "scenario", "pooled", "inference", "propensity", "fits"]
"""What must be the same in two runs: data; data and m; keys, target and groups; these and m; ..."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure that can be an axis of the map; lower is better for all of them.

    Parameters
    ----------
    key, title : str
        Its name in files and on the page.
    meaning : str
        What it is, in plain words.
    axis : {"risk", "utility"}
        Which axis it belongs to.
    scope : str
        What two runs must have in common for it to mean the same.
    ideal : float
        Values below it are as good as it is: a difference of -0.01 is no better than 0.
    same_rows : bool
        Whether it depends on the number of synthetic records, so that only datasets of the same
        size can be compared by it.
    """

    key: str
    title: str
    meaning: str
    axis: Literal["risk", "utility"]
    scope: Scope = "scenario"
    ideal: float = float("-inf")
    same_rows: bool = True

    def loss(self, value: float) -> float:
        """Return what a run is judged by.

        Examples
        --------
        >>> nearer = Measure(key="nearer", title="", meaning="", axis="risk", ideal=0.5)
        >>> nearer.loss(0.47), nearer.loss(0.53)
        (0.5, 0.53)
        """
        return max(value, self.ideal)

    def to_dict(self, units: Units = "records") -> dict[str, Any]:
        """Return plain values for a file, with words about what is counted."""
        plain = {name: value for name, value in asdict(self).items() if name != "ideal"}
        return plain | {"meaning": in_units(self.meaning, units)}


RISK: tuple[Measure, ...] = (
    Measure(
        key="cap",
        title="CAP, all datasets pooled",
        meaning="how often an intruder who has all datasets and knows the keys reads off the "
        "right target; records without a match count as 0",
        axis="risk",
        scope="pooled",
    ),
    Measure(
        key="cap_single",
        title="CAP of one dataset",
        meaning="how often an intruder who has one dataset and knows the keys reads off the right "
        "target (mean over the datasets); records without a match count as 0",
        axis="risk",
    ),
    Measure(
        key="differential_confidentiality",
        title="differential confidentiality",
        meaning="mean CAP of persons who were in the data minus that of persons who were not: "
        "the risk that the release adds; about 0 is safe, below 0 is as good as 0",
        axis="risk",
        scope="pooled",
        ideal=0.0,
    ),
    Measure(
        key="differential_single",
        title="differential confidentiality of one dataset",
        meaning="mean CAP, from one dataset, of persons who were in the data minus that of "
        "persons who were not; about 0 is safe, below 0 is as good as 0",
        axis="risk",
        ideal=0.0,
    ),
    Measure(
        key="cap_undefined",
        title="CAP of matches, all datasets pooled",
        meaning="how often the intruder is right about the records whose keys are found",
        axis="risk",
        scope="pooled",
    ),
    Measure(
        key="cap_u",
        title="CAP of uniques, all datasets pooled",
        meaning="how often the intruder is right about records whose keys nobody shares",
        axis="risk",
        scope="pooled",
    ),
    Measure(
        key="cap_special_uniques",
        title="CAP of special uniques, all datasets pooled",
        meaning="how often the intruder is right about the records that stand out most",
        axis="risk",
        scope="pooled",
    ),
    Measure(
        key="tcap",
        title="TCAP, all datasets pooled",
        meaning="how often a guess is right where the synthetic records with the same keys agree "
        "on one target",
        axis="risk",
        scope="pooled",
    ),
    Measure(
        key="disco",
        title="DiSCO",
        meaning="share of the records whose target the synthetic data disclose, rightly",
        axis="risk",
    ),
    Measure(
        key="repu",
        title="repU",
        meaning="share of the original uniques on the keys that are unique in the synthetic data "
        "too",
        axis="risk",
    ),
    Measure(
        key="replicated_uniques",
        title="replicated uniques",
        meaning="share of the synthetic records that are unique and equal to a unique original "
        "record in every variable",
        axis="risk",
        scope="data",
    ),
    Measure(
        key="replicated_careers",
        title="careers of one person",
        meaning="panels: share of the synthetic careers that equal, in every period, a career "
        "which exactly one person of the original has",
        axis="risk",
        scope="data",
    ),
    Measure(
        key="nearer_share",
        title="share nearer to the fitted half",
        meaning="share of the synthetic records that are nearer to a person who was in the data "
        "than to one who was not; 0.5 is none",
        axis="risk",
        scope="data",
        ideal=0.5,
        same_rows=False,
    ),
    Measure(
        key="revealed_share",
        title="revealed share",
        meaning="share of a sensitive variable that public ones and the synthetic data reveal",
        axis="risk",
        scope="inference",
    ),
    Measure(
        key="auc",
        title="AUC of the sensitive variable",
        meaning="how well public variables and the synthetic data rank who has the sensitive "
        "value; 0.5 is chance",
        axis="risk",
        scope="inference",
        ideal=0.5,
    ),
    Measure(
        key="attack_risk",
        title="largest risk of an attack",
        meaning="the most successful of the attacks, above its success on persons who "
        "were not in the data",
        axis="risk",
        scope="pooled",
    ),
)
"""Figures of risk, the one that a map shows first at the front."""

UTILITY: tuple[Measure, ...] = (
    Measure(
        key="mean_two_way",
        title="mean two-way S_pMSE",
        meaning="how far the tables of all pairs of variables are from the original's, on "
        "average; a right synthesis has about 1, a proper one and a fresh sample of the population "
        "1 + k/n (k synthetic, n original records)",
        axis="utility",
        scope="data",
    ),
    Measure(
        key="worst_two_way",
        title="largest two-way S_pMSE",
        meaning="the same for the pair of variables that is farthest off",
        axis="utility",
        scope="datasets",
    ),
    Measure(
        key="worst_one_way",
        title="largest one-way S_pMSE",
        meaning="the same for the variable whose distribution is farthest off",
        axis="utility",
        scope="datasets",
    ),
    Measure(
        key="pmse_ratio_cart",
        title="pMSE ratio by a tree",
        meaning="how well a classification tree tells synthetic from original records, over what "
        "is expected by chance; 1 is the level of a fresh sample, below 1 is as good as 1",
        axis="utility",
        scope="propensity",
        ideal=1.0,
    ),
    Measure(
        key="pmse_ratio_logit",
        title="pMSE ratio by a logit",
        meaning="how well a logit tells synthetic from original records, over what is expected of "
        "a right synthesis; about 1 is good, below 1 is as good as 1",
        axis="utility",
        scope="propensity",
        ideal=1.0,
    ),
    Measure(
        key="sequence_ratio",
        title="careers: largest distance over noise",
        meaning="panels: how far the careers are from the original's, over what bootstraps of its "
        "persons give, where it is most; 1 is the level of a fresh sample, below 1 is as good as 1",
        axis="utility",
        scope="datasets",
        ideal=1.0,
    ),
    Measure(
        key="roe_loss",
        title="1 - ratio of estimates of pairs",
        meaning="how much the counts of the tables of all pairs of variables differ, as a share; "
        "0 is equal",
        axis="utility",
        scope="data",
    ),
    Measure(
        key="overlap_loss",
        title="1 - overlap of confidence intervals",
        meaning="the part of the coefficients' confidence intervals that original and synthetic "
        "data do not share, mean over the fits; falls with the number of datasets; 0 is equal",
        axis="utility",
        scope="fits",
    ),
)
"""Figures of utility as losses, the one that a map shows first at the front."""

MEASURES: Mapping[str, Measure] = {measure.key: measure for measure in (*RISK, *UTILITY)}


CAREERS = ("sequence_ratio", "replicated_careers")
"""Figures that only panels have: of utility and of risk."""


def axis_problems(risk: str | None, utility: str | None) -> list[str]:
    """Say which names of axes are no measures, and which there are.

    Examples
    --------
    >>> axis_problems("cap", None)
    []
    >>> axis_problems(None, "mean_two_ways")[0][:60]
    '--utility mean_two_ways: is no figure of utility; choose one'
    """
    return [
        f"--{axis} {key}: is no figure of {axis}; choose one of "
        f"{', '.join(measure.key for measure in measures)}"
        for axis, key, measures in (("risk", risk, RISK), ("utility", utility, UTILITY))
        if key is not None and key not in {measure.key for measure in measures}
    ]
