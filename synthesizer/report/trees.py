"""Which variables trees drew, and how, as the manifest of a run tells it.

Trees are told by what they do to relations: even draws make datasets vary less, and large leaves
flatten weak effects unless the draws are tilted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthesizer.report.record import dig, words

__all__ = ["Trees", "tilts", "trees_of"]

MODELS = ("cart", "forest", "bagging")
"""Models of the package that are trees."""


@dataclass(frozen=True, kw_only=True)
class Trees:
    """The trees of one variable: those of its model and of the models that it wraps.

    Parameters
    ----------
    even : bool
        Whether some of the draws were spread evenly over a leaf, the default.
    tilt : bool
        Whether all draws were asked to follow a regression of what the tree leaves unexplained;
        they can where `tilts` says so.
    """

    even: bool = True
    tilt: bool = False


def trees_of(step: Mapping[str, Any], config: Any) -> Trees | None:
    """Return the trees of a step of a manifest's chain; None where there are none.

    Parameters
    ----------
    step : mapping
        Of the chain; ``trees`` says it. Manifests of older versions lack it: there the model's
        name and its options tell, which is all since no model of theirs wraps another.
    config : mapping
        The configuration in the manifest.

    Examples
    --------
    >>> trees_of({"model": "lag_one", "trees": {"even": True, "tilt": False}}, {})
    Trees(even=True, tilt=False)
    >>> config = {"models": {"cart": {"even": False}}}
    >>> trees_of({"variable": "age", "model": "cart"}, config)
    Trees(even=False, tilt=False)
    >>> trees_of({"variable": "age", "model": "normal"}, config) is None
    True
    """
    if step.get("kept") is True:
        return None
    if "trees" in step:
        told = step["trees"]
        if not isinstance(told, Mapping):
            return None
        return Trees(even=told.get("even") is not False, tilt=told.get("tilt") is True)
    model = words(step, "model")
    if model not in MODELS:
        return None

    def option(name: str) -> Any:
        usual = dig(config, "models", model, name)
        return dig(config, "variables", words(step, "variable"), "options", name, default=usual)

    return Trees(even=option("even") is not False, tilt=option("tilt") is True)


def tilts(kind: str, codes: int | None = None) -> bool:
    """Whether draws of a variable can be tilted: numbers, ordered levels, two levels.

    Parameters
    ----------
    kind : str
        Its kind.
    codes : int or None
        Levels and missing codes together; None: not known, and then two are not assumed.

    Examples
    --------
    >>> tilts("ordered"), tilts("categorical"), tilts("categorical", 2)
    (True, False, True)
    """
    return kind in ("numeric", "date", "ordered") or codes == 2
