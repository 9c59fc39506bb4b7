"""Describe a file in words that people can edit, and write files from the description alone."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, ModelFile, late

EXTENSION = Extension(
    key=Key(
        name="structure",
        options=f"{__name__}.structure_options:StructureOptions",
        description="names, kinds, levels and rounded ranges alone (fidelity: structure)",
        fidelity="structure",
    ),
    plan=late(f"{__name__}.structure:plan"),
    task="Draw without the data",
    commands=late(f"{__name__}.description_commands:commands"),
    names={
        "Description": f"{__name__}.description",
        "describe": f"{__name__}.describing",
        "read_description": f"{__name__}.description",
    },
)
DESCRIPTION = ModelFile(
    option="--description",
    about="Description of a file, in place of MODEL: no data and no fit.",
    endings=(".yaml", ".yml"),
    load=late(f"{__name__}.described:load_described"),
)
