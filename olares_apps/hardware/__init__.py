"""Hardware profiles: what a device offers, as data with a source for every number."""

from olares_apps.hardware.profile import (
    CudaCeiling,
    HardwareProfile,
    ProfileError,
    load_profile,
    profile_names,
    read_profile,
)

__all__ = [
    "CudaCeiling",
    "HardwareProfile",
    "ProfileError",
    "load_profile",
    "profile_names",
    "read_profile",
]
