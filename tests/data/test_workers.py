"""One BLAS thread at a time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from synthesizer.data.workers import one_blas_thread


@pytest.fixture(autouse=True)
def two_blas_threads() -> Iterator[None]:
    """Let there be threads to limit: the tests run with one."""
    with threadpool_limits(2, user_api="blas"):
        assert _blas_threads() == {2}
        yield


def _blas_threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_one_blas_thread_holds_whoever_was_first():
    """A thread that set the limit before must not keep others from setting it."""
    before = _blas_threads()

    def limited() -> set[int]:
        with one_blas_thread():
            return _blas_threads()

    def in_thread() -> set[int]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(limited).result()

    for turn in (limited, in_thread, limited, in_thread, in_thread):
        assert turn() == {1}
        assert _blas_threads() == before
    with ThreadPoolExecutor(1) as pool:  # the first that comes leaves before the last
        first = one_blas_thread()
        pool.submit(first.__enter__).result()
        with one_blas_thread():
            pool.submit(first.__exit__, None, None, None).result()
            assert _blas_threads() == {1}
            assert pool.submit(limited).result() == {1}
        assert pool.submit(_blas_threads).result() == before


def test_a_product_is_the_same_in_every_thread():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(2_019, 430)).astype(np.float32)
    factor = rng.normal(size=(2_019, 2)).astype(np.float32)

    @one_blas_thread()
    def product() -> bytes:
        return (matrix.T @ factor).tobytes()

    here = product()
    with ThreadPoolExecutor(2) as pool:
        assert {pool.submit(product).result() for _ in range(4)} == {here}
        assert set(pool.map(lambda _: product(), range(8))) == {here}
