"""Settings that hold for every test."""

import os
import signal

from hypothesis import HealthCheck, settings

# A shell that starts the suite in the background has SIGINT ignored, and children inherit that;
# the tests of interruption need it as a terminal gives it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples have no time limit: the machines that run them are shared and slow at times. Each run
# draws others, so fewer in a run find as much over many; a full proof draws more.
settings.register_profile(
    "olapps",
    max_examples=500 if os.environ.get("OLAPPS_PROVE") == "full" else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("olapps")
