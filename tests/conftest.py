"""Settings that hold for every test."""

import signal

from hypothesis import HealthCheck, settings

# A shell that starts the suite in the background has SIGINT ignored, and children inherit that;
# the tests of interruption need it as a terminal gives it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples have no time limit: the machines that run them are shared and slow at times.
settings.register_profile(
    "olapps", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("olapps")
