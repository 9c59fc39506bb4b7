import numpy as np
import pytest

from synthesizer.models.kit import predictors
from synthesizer.models.kit.classes import JoinedClasses
from synthesizer.models.kit.predictors import Response


@pytest.mark.parametrize("levels", [2, 7, 60])
def test_sums_of_many_levels_equal_those_of_the_whole_table(monkeypatch, levels):
    rng = np.random.default_rng(1)
    codes, of_rows = (rng.integers(k, size=300).astype(np.int32) for k in (50, levels))
    response = Response(of_rows, rng.normal(size=(levels, 3)))
    whole = response.sums(codes, 50)
    monkeypatch.setattr(predictors, "MAX_DENSE_CELLS", 0)
    np.testing.assert_allclose(response.sums(codes, 50), whole, atol=1e-12)


def test_classes_without_a_moment_are_one_class_of_the_same_probability():
    rng = np.random.default_rng(1)
    moments = np.array([[1, 0], [0, 0], [0, 2], [0, 0]], dtype=np.float32)
    joined = JoinedClasses.of(moments)
    offsets = np.log(rng.dirichlet(np.ones(4), size=5)).astype(np.float32)
    expected = np.exp(offsets) @ [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(np.exp(joined.offsets(offsets)), expected, rtol=1e-6)
    assert joined.classes(np.arange(4)).tolist() == [0, 2, 1, 2]
    assert joined.moments(moments).tolist() == [[1, 0], [0, 2], [0, 0]]
    alone = JoinedClasses.of(moments[:3])
    assert alone.offsets(offsets[:, :3]).shape == (5, 3)
    assert alone.moments(moments[:3]).tolist() == moments[:3].tolist()
