"""Inference about a sensitive variable (sex, race) from public ones (agency, occupation, pay).

The attack: the public variables of everybody are known by name, the sensitive one is not. An
intruder looks up the synthetic records with a person's public values and concludes from their
sensitive values to the person's. No record needs to be found again for that.

Sources: the disclosure reports on the synthetic federal workforce (Office of Personnel Management
data, 1988 to 2011); Barrientos et al. (2018), Providing access to confidential research data
through synthesis and verification, section 3.2.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synthesizer.data.codes import Codes, Groups, JointCoder
from synthesizer.data.pairs import Data, as_tables
from synthesizer.risk.public.cells import Cells, count_cells
from synthesizer.risk.public.checks import check_inference
from synthesizer.risk.public.classification import classification
from synthesizer.risk.public.differences import differences
from synthesizer.risk.public.result import InferenceResult
from synthesizer.risk.public.roc import roc
from synthesizer.risk.public.thresholds import InferenceScores, scores, threshold_risk
from synthesizer.risk.public.uniqueness import uniqueness

__all__ = ["THRESHOLDS", "inference", "inference_scores"]

THRESHOLDS = (0.5, 0.8, 0.9, 1.0)


def inference(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: Mapping[str, Groups] | None = None,
    baseline: Sequence[str] = (),
    thresholds: Sequence[float] = THRESHOLDS,
) -> InferenceResult:
    """Analyse how far synthetic data give away a sensitive variable of people in the original.

    A cell is a combination of the public variables. Synthetic datasets are pooled; where records
    are counted against original ones, the count is the mean over the datasets.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame, RawTable or sequence of them
        m synthetic datasets of any sizes.
    sensitive : str
        Variable that the intruder wants to learn, with at most 100 levels; missing codes are
        levels.
    public : sequence of str
        Variables that the intruder knows.
    positive : str or float, optional
        The class whose proportion is looked at: gets the ties where there are two levels. Default
        the more frequent of two levels; of more levels each is looked at.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the original, or cut points, of numeric variables; others
        count by exact value. Missing codes are values.
    baseline : sequence of str
        Public variables within which the distribution of the sensitive variable is published
        (computed from the original); default none: only its overall distribution is known.
    thresholds : sequence of float
        Probabilities of the true level from which a record counts as at risk, in (0, 1].

    Returns
    -------
    InferenceResult
        One part for each analysis; higher shares are riskier. Where a cell shows several levels
        equally often, the more frequent one of the original is taken, of two levels the positive
        one. The baseline of a figure is what it comes to when synthetic levels have nothing to do
        with true ones; what published margins (``baseline``) tell are figures of their own.

    Raises
    ------
    DataError
        For unknown variables, a sensitive variable with one level or too many and the like, all
        at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"agency": list("AAABBB"), "sex": list("FFMMMF")})
    >>> made = pd.DataFrame({"agency": list("AAABBC"), "sex": list("FFFMFF")})
    >>> found = inference(people, made, sensitive="sex", public=["agency"], positive="F")
    >>> round(found.classification.revealed, 3), found.thresholds.right
    (0.5, 0.5)
    >>> [(figure.name, figure.n) for figure in found.figures if "margins" not in figure.name][1:4]
    [('revealed share', 6), ('AUC', 6), ('guessed right', 6)]
    """
    cells, margin = _counted(
        original,
        synthetic,
        sensitive=sensitive,
        public=public,
        positive=positive,
        groups=groups or {},
        baseline=baseline,
        thresholds=thresholds,
    )
    return InferenceResult(
        sensitive=sensitive,
        public=tuple(public),
        baseline=tuple(baseline),
        levels=cells.levels,
        positive=None if cells.positive is None else cells.levels[cells.positive],
        n=cells.n,
        m=cells.m,
        n_synthetic=cells.n_synthetic,
        uniqueness=uniqueness(cells),
        classification=classification(cells),
        differences=differences(cells),
        roc=roc(cells),
        thresholds=threshold_risk(cells, scores(cells, margin), thresholds),
    )


def inference_scores(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: Mapping[str, Groups] | None = None,
    baseline: Sequence[str] = (),
) -> InferenceScores:
    """Return what is said of the true level of every original record; see `inference`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"agency": list("AAABBB"), "sex": list("FFMMMF")})
    >>> made = pd.DataFrame({"agency": list("AAAACC"), "sex": list("FFFMFF")})
    >>> found = inference_scores(people, made, sensitive="sex", public=["agency"])
    >>> found.synthetic.tolist()
    [0.75, 0.75, 0.25, nan, nan, nan]
    """
    cells, margin = _counted(
        original,
        synthetic,
        sensitive=sensitive,
        public=public,
        positive=positive,
        groups=groups or {},
        baseline=baseline,
        thresholds=(),
    )
    return scores(cells, margin)


def _counted(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None,
    groups: Mapping[str, Groups],
    baseline: Sequence[str],
    thresholds: Sequence[float],
) -> tuple[Cells, Codes]:
    """Return the checked counts, and the cell of each original record in the published table."""
    ours, made = as_tables(original, synthetic, [*public, sensitive])
    check_inference(
        ours,
        made,
        sensitive=sensitive,
        public=public,
        positive=positive,
        groups=groups,
        baseline=baseline,
        thresholds=thresholds,
    )
    cells = count_cells(
        ours, made, sensitive=sensitive, public=public, positive=positive, groups=groups
    )
    return cells, JointCoder(ours, baseline, groups).codes
