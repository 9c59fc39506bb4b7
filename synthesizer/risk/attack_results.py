"""What attacks on synthetic data achieved: rates of success, and the risk beyond the control."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from synthesizer.figures import Figure
from synthesizer.risk.intervals import excess, wilson

__all__ = ["Attack", "AttackResult"]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack on the fitted half and on the unseen half.

    Parameters
    ----------
    name : str
        What was tried.
    asked, n : int
        Attacks asked for, and made on each half: there may be too few conditions or records.
    successes, control_successes : int
        Attacks that succeeded on the fitted and on the unseen half.
    rate, rate_low, rate_high : float or None
        Share of successes on the fitted half and its interval; None where no attack was made.
    control_rate : float or None
        Share of successes on the unseen half.
    baseline : float or None
        Share of successes of an attacker who guesses.
    fitted_kept : float
        Share of the fitted half that was attacked at random; the others could not be reached, so
        that rate and risk are too low by about that share.
    risk, low, high : float or None
        (rate - control rate) / (1 - control rate) and its interval: below 0 where the unseen half
        is attacked with more success, None where the control rate is 1.

    Examples
    --------
    >>> attack = Attack.of("inference", asked=500, n=500, successes=250, control_successes=200,
    ...                    baseline=0.3, confidence=0.95)
    >>> round(attack.risk, 3), round(attack.low, 3), round(attack.high, 3)
    (0.167, 0.072, 0.26)
    """

    name: str
    asked: int
    n: int
    successes: int
    control_successes: int
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    control_rate: float | None = None
    baseline: float | None = None
    fitted_kept: float = 1.0
    risk: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(
        cls,
        name: str,
        *,
        asked: int,
        n: int,
        successes: int,
        control_successes: int,
        baseline: float | None,
        confidence: float,
        fitted_kept: float = 1.0,
    ) -> Attack:
        """Return rates, risk and their intervals of ``n`` attacks made on each half."""
        rates: dict[str, float | None] = {}
        if n:
            rate, control = successes / n, control_successes / n
            low, high = wilson(rate, n, confidence)
            rates = {"rate": rate, "rate_low": low, "rate_high": high, "control_rate": control}
            gain = excess(rate, n, control, n, confidence)
            rates |= dict(zip(("risk", "low", "high"), gain, strict=True))
        return cls(
            name=name,
            asked=asked,
            n=n,
            successes=successes,
            control_successes=control_successes,
            baseline=baseline,
            fitted_kept=fitted_kept,
            **rates,
        )

    @property
    def is_weak(self) -> bool | None:
        """Whether guessing does better: then the attack proves nothing, not even safety.

        Being as rarely successful as guessing is no weakness: there may be nothing to find.
        """
        if self.rate_high is None or self.baseline is None:
            return None
        return self.rate_high < self.baseline

    @property
    def figures(self) -> tuple[Figure, Figure]:
        """The risk, and the share of successes that it comes from."""
        limits = ""
        if self.fitted_kept < 1:
            limits = (
                f"; too low, since only a share of {self.fitted_kept:.2g} of the fitted records "
                "could be attacked: as many as there are unseen ones"
            )
        risk = Figure(
            name=f"{self.name}: risk",
            value=self.risk,
            meaning="success of the attack on records the synthesis was fitted on beyond that on "
            f"records it never saw, as a share of what could be gained{limits}",
            direction="about 0 is good",
            n=self.n,
            low=self.low,
            high=self.high,
            baseline=0.0,
        )
        rate = Figure(
            name=f"{self.name}: success",
            value=self.rate,
            meaning="share of attacks on records the synthesis was fitted on that succeed; the "
            f"baseline is that of an attacker who guesses{limits}",
            direction="lower is safer",
            n=self.n,
            low=self.rate_low,
            high=self.rate_high,
            baseline=self.baseline,
        )
        return risk, rate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {"is_weak": self.is_weak}


@dataclass(frozen=True)
class AttackResult:
    """All attacks on one synthesis.

    Parameters
    ----------
    keys, target : tuple of str, str
        What the attacker knows, and wants to learn.
    linked : tuple of two tuples of str, or None
        Variables of the two sources that are joined; None where there was no such attack.
    records : int
        Number of records of each half, drawn at random, that took part in singling out.
    all_fitted, all_unseen : int
        Number of records of the halves, which targets of the other attacks were drawn from.
    synthetic : int
        Number of synthetic records: all were used.
    max_attempts : int
        Conditions on combinations that were tried at most: of large files fewer than asked for.
    confidence : float
        Of all intervals.
    attacks : tuple of Attack
        In the order singling out (rare values, combinations), linkability, inference.
    """

    keys: tuple[str, ...]
    target: str
    linked: tuple[tuple[str, ...], tuple[str, ...]] | None
    records: int
    all_fitted: int
    all_unseen: int
    synthetic: int
    max_attempts: int
    confidence: float
    attacks: tuple[Attack, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Risk and share of successes of every attack."""
        return tuple(figure for attack in self.attacks for figure in attack.figures)

    def __getitem__(self, name: str) -> Attack:
        """Return the attack of that name; raises KeyError if there is none."""
        for attack in self.attacks:
            if attack.name == name:
                return attack
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "keys": list(self.keys),
            "linked": None if self.linked is None else [list(names) for names in self.linked],
            "attacks": [attack.to_dict() for attack in self.attacks],
        }
