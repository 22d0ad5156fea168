"""Specs: the typed models, the strict loader, the workspace."""
