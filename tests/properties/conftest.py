"""Examples take as long as they take: a busy machine is no failure."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None)
slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("thorough", deadline=None, max_examples=2000, suppress_health_check=slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))
