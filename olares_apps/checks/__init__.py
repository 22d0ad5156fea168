"""Checks: the rule table and its rules."""
