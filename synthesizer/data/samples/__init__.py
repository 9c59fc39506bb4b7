"""Built-in samples: public data that statsmodels carries, and what their variables are."""

from synthesizer.data.samples.builtin import (
    DEFAULT_PERSONS,
    SAMPLES,
    Sample,
    is_simulated,
    sample_path,
)

__all__ = ["DEFAULT_PERSONS", "SAMPLES", "Sample", "is_simulated", "sample_path"]
