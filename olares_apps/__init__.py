"""Typed app specs, versioned Olares charts, and markets that devices can trust."""

__version__ = "0.1.0"
