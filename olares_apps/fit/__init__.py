"""Does a model load, carry its draft head and stay inside the GPU's memory?

Pure functions of facts: the GGUF header reader takes bytes through a ``ByteSource``,
everything after it takes plain data. Sources of every formula: docs/fit.md.
"""
