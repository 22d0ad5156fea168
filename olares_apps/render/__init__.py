"""Rendering: one spec and one generation to a chart, and a chart to an archive."""
