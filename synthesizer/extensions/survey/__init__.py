"""Survey weights: draws and totals, weighted estimates, and disclosure by weights."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="weights",
        options=f"{__name__}.weights_options:WeightsOptions",
        description="column of the survey weight, or {variable, totals}: drawn last given "
        "everything else, and raked to public totals",
        finishers=tuple(f"{__name__}.survey_weights:{name}" for name in ("Raking", "Replicating")),
    ),
    plan=late(f"{__name__}.weighting:plan_weights"),
    sentences=__name__,
    codebook=late(f"{__name__}.weighting:codebook_facts"),
)
