"""The functions that templates can call, as tables by subject."""
