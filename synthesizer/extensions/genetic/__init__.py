"""The genetic synthesizer: whole datasets evolve to a given limit of risk."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="genetic",
        options=f"{__name__}.genetic_options:GeneticOptions",
        description="evolve whole datasets (method: genetic), in place of a chain or after it",
        makes_datasets=True,
    ),
    plan=late(f"{__name__}.evolving:plan_genetic"),
    sentences=__name__,
    result=late(f"{__name__}.evolved:read_evolution"),
    page=late(f"{__name__}.genetic_report:genetic_section"),
    screen=late(f"{__name__}.genetic_report:on_screen"),
    codebook=late(f"{__name__}.genetic_report:codebook_facts"),
    names=dict.fromkeys(("Refined", "refine"), f"{__name__}.refine"),
    task="Judge files from any source",
    commands=late(f"{__name__}.genetic_commands:commands"),
)
