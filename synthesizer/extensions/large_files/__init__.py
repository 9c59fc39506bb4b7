"""Parquet files larger than memory: models learn from a sample, datasets are drawn in parts."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="large_files",
        options=f"{__name__}.large_files_options:LargeFilesOptions",
        description="sources that are not read whole",
        placements={"fit_rows": "data", "resume": "output", "dask": "workers"},
        switches={"resume": "Go on with a run in parts (data.fit_rows) that was stopped."},
    ),
    plan=late(f"{__name__}.planned_parts:plan_parts"),
    sentences=__name__,
)
