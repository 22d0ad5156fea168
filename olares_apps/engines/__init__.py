"""Engines: how settings become arguments, environment and probes."""
