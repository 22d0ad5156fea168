"""The device simulator: what an Olares device would do with a source, and why not."""
