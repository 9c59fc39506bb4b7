"""Data intrusion simulation (DIS): how often is a unique match the right person?

The attack: an intruder finds exactly one record with the key of a known person and believes to
have found that person. In a sample the person may be somebody else who was not sampled.

Sources: Skinner and Elliot (2002), A measure of disclosure risk for microdata, Journal of the
Royal Statistical Society B 64, 855-867; Elliot, Manning, Mayes, Gurd and Bane (2005), SUDA: a
program for detecting special uniques, which spreads the file's DIS over its uniques.
"""

from __future__ import annotations

import numpy as np

from synthesizer.data.table import FloatArray

__all__ = ["data_intrusion_simulation", "dis_suda_scores", "score_exponent"]


def data_intrusion_simulation(uniques: int, paired: int, sampling_fraction: float) -> float | None:
    """Estimate the probability that a unique match between a sample and a known person is right.

    Parameters
    ----------
    uniques : int
        Records whose key no other record has, U.
    paired : int
        Records whose key exactly one other record has, P.
    sampling_fraction : float
        Share f of the population that is in the sample, in (0, 1].

    Returns
    -------
    float or None
        U f / (U f + P (1 - f)), in (0, 1]; None without uniques. It is 1 for a whole population,
        and also where there are no pairs to tell from how many keys the population shares.

    Examples
    --------
    >>> data_intrusion_simulation(30, 30, 0.1), data_intrusion_simulation(30, 30, 1.0)
    (0.1, 1.0)
    """
    right = uniques * sampling_fraction
    return right / (right + paired * (1 - sampling_fraction)) if uniques else None


def score_exponent(n_keys: int) -> float:
    """Return the power of the SUDA score that the odds of a right match are proportional to.

    Inferred, not taken from a paper: published scores of sdcMicro for 3, 4 and 6 keys obey
    1 + (8 - n_keys) / 20 to every digit given; other numbers of keys
    follow the same line. It is held above 0, so that the odds never fall with the score (from 28
    keys on). This affects how DIS is spread, not DIS itself.

    Examples
    --------
    >>> [round(score_exponent(n_keys), 2) for n_keys in (3, 4, 6, 12)]
    [1.25, 1.2, 1.1, 0.8]
    """
    return max(1, 28 - n_keys) / 20


def dis_suda_scores(scores: FloatArray, dis: float | None, n_keys: int) -> FloatArray:
    """Spread the file's DIS over its uniques by their SUDA scores (DIS-SUDA).

    Among unique matches of a record there are (1 - p) / p wrong ones for each right one. This
    ratio is taken to be proportional to score ** -exponent, and its mean over the records is that
    of the whole file, (1 - dis) / dis.

    Parameters
    ----------
    scores : ndarray of float, shape (u,)
        SUDA scores of the uniques, above 0.
    dis : float or None
        `data_intrusion_simulation` of the file; None only without uniques.
    n_keys : int
        Number of keys that the scores were computed with.

    Returns
    -------
    ndarray of float, shape (u,)
        Probabilities p in (0, 1] that a unique match with the record is right.

    Examples
    --------
    >>> dis_suda_scores(np.array([2.0, 2.0]), 0.25, 6).tolist()
    [0.25, 0.25]
    >>> dis_suda_scores(np.array([1.0, 3.0]), 0.25, 8).tolist()
    [0.18181818181818182, 0.4]
    """
    if dis is None or not len(scores):
        return np.empty(0)
    weights = scores ** -score_exponent(n_keys)
    return np.asarray(1 / (1 + (1 - dis) / dis * weights / weights.mean()))
