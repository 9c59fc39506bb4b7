"""One BLAS thread at a time."""

from threadpoolctl import threadpool_info

from synthesizer.data.workers import one_blas_thread


def test_one_blas_thread_may_be_nested_and_left_in_any_order():
    before = threadpool_info()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    inside = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    second.__exit__(None, None, None)
    assert set(inside) == {1}
    assert threadpool_info() == before
