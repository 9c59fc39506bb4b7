"""Settings of all tests."""

import os

from hypothesis import settings

# In CI the same examples every time: a red run is about the change, not about luck.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
