"""Built-in samples: public data that statsmodels carries, and what their variables are."""

from synthesizer.samples.catalogue import SAMPLES, Sample, sample_path

__all__ = ["SAMPLES", "Sample", "sample_path"]
