"""What a file may hold of a fitted model: every part checks its own, so that damage is refused."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import SavedModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import codec
from synthesizer.models.careers.dirichlet import Mixture
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.models.careers.lengths import Components
from synthesizer.models.cart import Cart
from synthesizer.models.forest import Forest
from synthesizer.models.grouped import Grouped
from synthesizer.models.kit.predictors import Design
from synthesizer.models.limits import Support
from synthesizer.models.logistic import Logistic
from synthesizer.models.multinomial import Multinomial
from synthesizer.models.nominal import Nominal
from synthesizer.models.normal import Lognormal, Normal
from synthesizer.models.normrank import Normrank
from synthesizer.models.ordinal import Ordinal
from synthesizer.models.pmm import Pmm
from synthesizer.models.sample import Sample
from tests.models.careers.test_fitted_careers import careers

CODEC = codec(Registry.load())
N = 60


def table(n: int = N) -> Table:
    rng = np.random.default_rng(1)
    numbers = Column(Variable(name="x", kind=Kind.NUMERIC), rng.normal(size=n))
    gappy = Variable(name="g", kind=Kind.NUMERIC, missing=("",))
    states = (np.arange(n) % 3 == 0).astype(np.int8)
    codes = Variable(name="c", kind=Kind.CATEGORICAL, levels=("a", "b"))
    data = np.where(states > 0, np.nan, np.arange(n))
    return Table(
        [numbers, Column(gappy, data, states), Column(codes, np.arange(n, dtype=np.int32) % 2)]
    )


def target(n_levels: int = 0) -> Column:
    if not n_levels:
        return Column(Variable(name="y", kind=Kind.NUMERIC), np.arange(1.0, N + 1))
    variable = Variable(name="y", kind=Kind.ORDERED, levels=tuple("abcdef"[:n_levels]))
    return Column(variable, np.arange(N, dtype=np.int32) % n_levels)


def fitted(model: Any, n_levels: int = 0) -> Callable[[], Any]:
    return lambda: model.fit(table(), target(n_levels), rng=np.random.default_rng(1))


def tilted() -> Any:
    """A tilted tree whose target has intervals and a spike, and two levels without a value."""
    predictors = table(4 * N)
    values = np.where(predictors["c"].data > 0, np.arange(4.0 * N), 0.0)
    target = Column(Variable(name="y", kind=Kind.NUMERIC), values)
    return Cart().fit(predictors, target, rng=np.random.default_rng(1))


def fitted_careers() -> Any:
    rng = np.random.default_rng(1)
    options = CareerOptions(match=True)
    return fit_careers(careers(8, n=60), 4, Table([], 60), options, out_codes=[0], rng=rng)


MADE: dict[str, Callable[[], Any]] = {
    "normal": fitted(Normal()),
    "lognormal": fitted(Lognormal(shift=2.0)),
    "normrank": fitted(Normrank()),
    "pmm": fitted(Pmm()),
    "logistic": fitted(Logistic(), 2),
    "multinomial": fitted(Multinomial(), 3),
    "ordinal": fitted(Ordinal(), 4),
    "tilted": tilted,
    "cart": fitted(Cart(min_leaf=5, tilt=False)),
    "coded cart": fitted(Cart(min_leaf=5, tilt=False), 3),
    "forest": fitted(Forest(n_trees=2, min_leaf=5)),
    "grouped": fitted(Grouped(by=("c",), base=Sample(), min_rows=2)),
    "nominal": fitted(Nominal(given=("c",))),
    "near": fitted(Nominal(given=("c",), near="x", base=Sample())),
    "sample": fitted(Sample(), 3),
    "design": lambda: Design.fit(table(), min_frequency=1),
    "support": lambda: Support.of(table(), ("c",), "c"),
    "mixture": lambda: Mixture(np.array([0.5, 0.5]), np.ones((2, 3))),
    "components": lambda: Components(4, patterns=np.array([[1, 3]]), theta=1.0),
    "careers": fitted_careers,
}
SHORT, NAN = np.zeros(1), np.full(N, np.nan)

DAMAGE: list[tuple[str, str, Any, str]] = [
    ("normal", "regression.sigma", -1.0, "sigma"),
    ("normal", "regression.sigma", np.inf, "sigma"),
    ("normal", "regression.sigma", "1", "sigma must be a number"),
    ("normal", "regression.coefficients", np.zeros(9), "coefficients"),
    ("normal", "form.upper", -1e9, "the range"),
    ("normal", "variable.kind", "secret", "kind must be one of"),
    ("normal", "variable.decimals", 99, "decimals must be 0 to 15"),
    ("normal", "variable", None, "variable must be made of"),
    ("lognormal", "log_shift", float("nan"), "log_shift"),
    ("normrank", "values", np.ones(2), "values"),
    ("normrank", "values", np.array([]), "values"),
    ("normrank", "values", np.array([1.0, np.inf]), "values"),
    ("normrank", "counts", np.array([1]), "counts"),
    ("normrank", "counts", np.zeros(N, dtype=int), "counted"),
    ("normrank", "spread", np.linspace(1, 0, 1025), "spread"),
    ("normrank", "spread", np.zeros(3), "spread"),
    ("pmm", "predicted", np.arange(N, 0.0, -1.0), "predicted"),
    ("pmm", "predicted", SHORT, "predicted"),
    ("pmm", "donors", NAN, "donors"),
    ("pmm", "neighbours", 0, "neighbours"),
    ("pmm", "neighbours", np.inf, "neighbours must be a whole number"),
    ("logistic", "codes", np.array([0, 9]), "codes holds codes out of range"),
    ("logistic", "codes", np.array([], dtype=int), "codes"),
    ("logistic", "codes", np.array([0.0, 1.0]), "codes must be an array of int"),
    ("logistic", "coefficients", np.zeros(2), "coefficients"),
    ("logistic", "coefficients", np.full(5, np.nan), "coefficients"),
    ("multinomial", "codes", np.array([0, 1, 7]), "codes holds codes out of range"),
    ("multinomial", "codes", np.array([], dtype=int), "codes"),
    ("multinomial", "codes", np.array([0, 1]), "codes"),
    ("ordinal", "scale.codes", np.array([0, 1, 2, 9]), "codes holds codes out of range"),
    ("ordinal", "scale.thresholds", np.array([0.0, 2.0, 1.0]), "thresholds"),
    ("ordinal", "scale.thresholds", np.array([0.0, 2.0]), "thresholds"),
    ("ordinal", "scale.coefficients", np.array([0.0, 1.0]), "coefficients"),
    ("ordinal", "scale", None, "scale"),
    ("cart", "leaves.1.donors.data", np.zeros(N - 1), "donors has shape"),
    ("cart", "leaves.1.donors.data", NAN, "not finite"),
    ("cart", "leaves.1.weights", np.zeros(N), "weights of donors must be positive"),
    ("cart", "leaves.1.tree.right", np.zeros(3, dtype=int), "tree"),
    ("cart", "leaves.0", "Twigs", "leaves"),
    ("cart", "encoding.names", ["g"], "must have positions"),
    ("cart", "encoding.positions", [np.full(2, np.nan)] * 3, "not finite"),
    ("cart", "drawing.shrinkage", -1.0, "shrinkage"),
    ("cart", "drawing.even", 1, "even must be true or false"),
    ("tilted", "leaves.1.tree.right", np.zeros(3, dtype=int), "tree"),
    ("tilted", "leaves.1.logarithms", np.zeros((1, 1), dtype=np.float32), "logarithms has shape"),
    ("tilted", "leaves.1.logarithms", np.nan, "logarithms holds numbers that are not finite"),
    ("tilted", "leaves.1.moments.values", np.zeros((1, 1), dtype=np.float32), "has shape"),
    ("tilted", "leaves.1.coefficients", np.inf, "coefficients holds numbers that are not"),
    ("tilted", "leaves.1.coefficients", np.zeros((2, 1), dtype=np.float32), "coefficients has"),
    ("tilted", "leaves.1.classes.spikes", np.array([1.0, 1.0]), "must hold numbers that rise"),
    ("tilted", "leaves.1.classes.edges", np.nan, "edges holds numbers that are not finite"),
    ("tilted", "leaves.1.classes.donors", SHORT, "out of range"),
    ("tilted", "leaves.1.classes.starts", np.array([0, 1]), "intervals must each hold donors"),
    ("tilted", "leaves.1.classes.starts", 0, "intervals must each hold donors"),
    ("tilted", "leaves.1.classes.starts", np.zeros(0, dtype=int), "intervals must each hold"),
    ("tilted", "leaves.1.absent.0.left", np.float32(0.5), "a logarithm below 0"),
    ("tilted", "leaves.1.absent.0.classes", 99, "classes holds codes out of range"),
    ("tilted", "leaves.1.absent.0.codes", np.zeros(0, dtype=int), "left has shape"),
    ("tilted", "leaves.1.absent.0.codes", np.array([-1]), "codes holds codes out of range"),
    ("tilted", "leaves.1.absent.0.name", "unknown", "unknown predictor"),
    ("tilted", "leaves.1.features.1.means", SHORT.astype(np.float32), "means has shape"),
    ("tilted", "leaves.1.features.1.terms.0.1.spread", 0.0, "the spread above 0"),
    ("tilted", "leaves.1.features.1.terms.0.1.mean", np.inf, "mean and spread must be finite"),
    ("tilted", "leaves.1.features.1.terms.0.1.quantiles", 1.0, "must hold numbers that rise"),
    ("tilted", "leaves.1.features.1.terms.0.1.quantiles", np.zeros(0), "must hold numbers"),
    ("tilted", "leaves.1.features.1.terms.0.1.ranks", SHORT, "ranks has shape"),
    ("tilted", "leaves.1.features.1.terms.0.1.ranks", 2.0, "ranks must rise within 0 and 1"),
    ("tilted", "leaves.1.features.1.terms.0.1.spikes", np.array([np.nan]), "not finite"),
    ("tilted", "leaves.1.features.1.terms.1.1.n_missing", -1, "mean and spread must be finite"),
    ("tilted", "leaves.1.features.1.terms.2.1.indicator_of", np.array([-2, 0]), "out of range"),
    ("tilted", "leaves.1.features.1.terms.2.1.score", SHORT, "score has shape"),
    ("tilted", "leaves.1.features.1.terms.0.1.name", "unknown", "unknown predictor"),
    ("tilted", "numbers.values", 1.0, "must hold numbers that rise"),
    ("tilted", "numbers.counts", 0, "k must be at least 1"),
    ("tilted", "numbers.counts", np.ones(2, dtype=int), "counts has shape"),
    ("tilted", "numbers.k", 0, "k must be at least 1"),
    ("tilted", "numbers.n_units", 0, "k must be at least 1"),
    ("tilted", "numbers.bounds", [9.0, 1.0], "bounds must rise"),
    ("tilted", "numbers.decimals", 99, "decimals must be 0 to 15"),
    (
        "coded cart",
        "leaves.1.donors.data",
        np.full(N, 99),
        "codes of variable 'y' are out of range",
    ),
    ("coded cart", "leaves.1.donors.data", np.arange(float(N)), "must be a list of its type"),
    ("coded cart", "encoding", {"names": [], "positions": []}, "does not fit its predictors"),
    ("forest", "trees", [], "an ensemble must have trees"),
    ("grouped", "others.name", "absent", "unknown model 'absent'"),
    ("grouped", "others", {"type": "os:system", "state": {}}, "others must be named"),
    ("grouped", "known", np.array([1, 0]), "every group needs a model"),
    ("grouped", "groups.values", [np.array([1.0, 0.0])], "must rise"),
    ("grouped", "groups.values", [], "needs values"),
    ("nominal", "ends", np.array([30, 70]), "every combination needs donors"),
    ("nominal", "ends", np.array([0, N]), "every combination needs donors"),
    ("nominal", "known", np.array([1, 1]), "must rise"),
    ("near", "lagged.fixed", np.array([True]), "fixes its value or not"),
    ("near", "lagged.scale", -1.0, "a lag needs"),
    ("near", "lagged.scale", np.nan, "not finite"),
    ("near", "lagged.steps", [], "a lag needs"),
    ("near", "lagged.own.ends", np.array([30, N + 1]), "every combination needs donors"),
    ("near", "lagged.own.ends", np.array([0, N]), "every combination needs donors"),
    ("near", "lagged.own.places", NAN, "not finite"),
    ("near", "lagged.own.values", SHORT, "shape"),
    ("near", "lagged.own.known", np.array([1, 0]), "rise"),
    ("sample", "donors.data", np.array([0, 1, 3]), "variable 'y' are out of range"),
    ("design", "terms.1.dummy_of", np.array([7, 0]), "dummy_of"),
    ("design", "terms.1.dummy_of", np.array([0.5, 0]), "dummy_of"),
    ("design", "terms.1.dummy_of", np.array([[0, 1]]), "dummy_of"),
    ("design", "terms.1.scale", 0.0, "scale"),
    ("design", "terms.1.mean", np.nan, "mean"),
    ("support", "known", np.array([], dtype=int), "rise"),
    ("support", "known", np.array([2, 1]), "rise"),
    ("support", "known", np.array([1, 1]), "rise"),
    ("support", "known", np.array([-1, 3]), "negative"),
    ("mixture", "alpha", np.array([[0.0, 1.0], [1.0, 1.0]]), "components must be positive"),
    ("mixture", "alpha", np.full((2, 2), np.nan), "components must be positive"),
    ("mixture", "alpha", np.ones((1, 2)), "one weight for each component"),
    ("mixture", "weights", np.array([0.5, 0.1]), "sum to 1"),
    ("components", "patterns", np.array([[5, -1]]), "patterns"),
    ("components", "patterns", np.array([[1, 1]]), "patterns"),
    ("components", "patterns", np.array([[0.5]]), "patterns"),
    ("components", "theta", -1.0, "components"),
    ("careers", "n_states", 0, "at least 1"),
    ("careers", "n_periods", 3, "periods"),
    ("careers", "theta", -1.0, "at least 1"),
    ("careers", "oversample", 0, "at least 1"),
    ("careers", "reserve", np.full((1, 8), 9), "observed careers"),
    ("careers", "reserve", np.zeros((1, 3), dtype=int), "observed careers"),
    ("careers", "quota.cells", np.array([[1, 2]]), "one count for each cell"),
    ("careers", "quota.counts", np.array([0]), "quota"),
    ("careers", "rules.until", np.full((4, 8), 99), "out of range"),
    ("careers", "rules.allowed", np.ones((4, 4), dtype=bool), "follow itself"),
    ("careers", "rules.first", np.ones(1, dtype=bool), "one row for each state"),
    ("careers", "trees.later.encoding.names.0", "unknown", "unknown predictor"),
    ("careers", "lengths.component_trees.0.leaves.1.donors.data", 99.0, "out of range"),
    ("careers", "chain.first.tables.0.states", 9, "out of range"),
    ("careers", "chain.first.tables.0.counts", 0, "counts must be at least 1"),
    ("careers", "chain.first.tables.0.cells", np.array([3]), "cell"),
    ("careers", "chain.first.tables.2.cells", np.array([1]), "end in a margin"),
    ("careers", "chain.first.concentration", 0.0, "above 0"),
    ("careers", "chain.n_periods", 0, "the same states"),
    ("careers", "chain.n_periods", 9, "its states and periods"),
    ("careers", "trees.first.leaves.1.donors.data", 4, "out of range"),
    ("careers", "lengths.n_periods", 9, "as many parts as there are runs"),
    ("careers", "lengths.groups", 1, "must hold numbers that rise"),
    ("careers", "lengths.components", [], "components and a tree"),
    ("careers", "lengths.component_trees", [], "components and a tree"),
    ("components", "patterns", np.ones(4, dtype=int), "patterns must be a table"),
    ("components", "patterns", np.ones((0, 2), dtype=int), "patterns must be a table"),
]


@cache
def state_of(name: str) -> tuple[type, Any]:
    made = MADE[name]()
    return type(made), CODEC.plain(type(made), made)


def damaged(state: Any, place: str, value: Any) -> Any:
    """Return a copy with one value replaced; a number fills an array."""
    state = deepcopy(state)
    *path, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inner = state
    for part in path:
        inner = inner[part]
    old = inner[last]
    fills = isinstance(old, np.ndarray) and np.ndim(value) == 0
    inner[last] = np.full_like(old, value) if fills else value
    return state


@pytest.mark.parametrize("name", MADE)
def test_an_unaltered_model_is_read(name: str) -> None:
    kind, state = state_of(name)
    assert type(CODEC.typed(kind, deepcopy(state))) is kind


@pytest.mark.parametrize(("name", "place", "value", "message"), DAMAGE)
def test_damage_is_refused(name: str, place: str, value: Any, message: str) -> None:
    kind, state = state_of(name)
    with pytest.raises(SavedModelError, match=message):
        CODEC.typed(kind, damaged(state, place, value))
