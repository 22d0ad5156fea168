"""Settings that hold for every test."""

from hypothesis import HealthCheck, settings

# Examples have no time limit: the machines that run them are shared and slow at times.
settings.register_profile(
    "olapps", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("olapps")
