"""Measured speeds: what compares with what."""
