"""The lock: facts about model files and images, fetched once, pinned and reviewed in diffs.

``hub`` and ``registry`` ask the network; everything else is plain data. A render and a check
read the lock and never the network. What is in it and why: docs/lock.md.
"""
