"""Settings of all tests."""

import os

from hypothesis import settings

# In CI the same examples every time: a red run is about the change, not about luck.
settings.register_profile("ci", derandomize=True, deadline=None)
# Elsewhere other examples; nowhere a deadline: a busy machine is no fault of the program.
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
