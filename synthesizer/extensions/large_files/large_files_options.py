"""The options of sources that are not read whole, each a key of the core's sections."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from synthesizer.config.section import Section
from synthesizer.data.options import Whole
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import RawTable, WholeSource, parquet_files
from synthesizer.measures.measure_options import Label, Part


class LargeFilesOptions(Part, Section):
    """Size limit of whole reading, workers, and continuation of a run."""

    fit_rows: Whole = Field(
        1_000_000,
        ge=1_000,
        description="Parquet: a larger source is not read whole; models are fitted on about so "
        "many rows of a random sample of persons, or rows, and checks look at these; datasets have "
        "the size of the whole and are written in parts",
    )
    dask: Label | None = Field(
        None,
        description="address of a Dask scheduler, such as tcp://host:8786, whose machines draw the "
        "parts of datasets (extra 'dask'; Parquet sources)",
    )
    resume: bool = Field(
        False,
        description="go on with a run in parts that was stopped, or begin one (run --resume)",
    )

    def sampled(self, path: Path, unit: str | None = None) -> tuple[RawTable, WholeSource] | None:
        """Return a sample of a large Parquet source, and of any where a cluster draws."""
        if not parquet_files(path):
            return None
        from synthesizer.extensions.large_files.parquet_sample import parquet_rows, read_sample

        rows = parquet_rows(path)
        is_whole = rows <= self.fit_rows and (rows == 0 or self.dask is None)
        return None if is_whole else read_sample(path, self.fit_rows, unit)

    def seed(self, output: Path) -> Seed | None:
        """Return seed and key of the stopped run that goes on."""
        if not self.resume:
            return None
        from synthesizer.extensions.large_files.dataset_parts import kept_seed

        return kept_seed(output)
