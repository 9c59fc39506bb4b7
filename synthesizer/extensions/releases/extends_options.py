"""The options of new periods."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from synthesizer.measures.measure_options import Part


class ExtendsOptions(Part):
    """The published run that new periods are added to."""

    run: Path = Field(description="its directory; published data stay byte for byte")
    revised: bool = Field(
        False,
        description="whether to go on where the confidential data of published periods have "
        "changed since",
    )
