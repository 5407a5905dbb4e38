"""Hypothesis profiles, and fixtures that several files share."""

import os

from hypothesis import HealthCheck, settings

from commanding import karate  # noqa: F401 - a fixture

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "max_examples": 50}
settings.register_profile("dev", **COMMON)
# The same commit must test the same way: no random draws, no memory of earlier runs.
settings.register_profile("ci", derandomize=True, database=None, **COMMON)
# By hand: HYPOTHESIS_PROFILE=heavy pytest tests/test_laws*.py, twenty times the cases and new ones every time.
settings.register_profile("heavy", database=None, **(COMMON | {"max_examples": 1000}))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
