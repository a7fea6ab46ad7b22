"""Examples take as long as they take: a busy machine is no failure.

`HYPOTHESIS_PROFILE=thorough` looks longer, for a change that touches much.
"""

import os

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("unhurried", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=2000, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))
