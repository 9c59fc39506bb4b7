"""Settings of all tests."""

import os

from hypothesis import HealthCheck, Phase, settings

# In CI the same examples every time: a red run is about the change, not about luck.
settings.register_profile("ci", derandomize=True, deadline=None)
# Elsewhere other examples; nowhere a deadline: a busy machine is no fault of the program.
settings.register_profile("here", deadline=None)
# Of a mutant (scripts/mutants.py) only counts whether it fails, not what fails most simply.
settings.register_profile(
    "mutants",
    settings.get_profile("ci"),
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "here")
)
