"""Running the market's Worker: its sources, its configuration, its tokens, its deployment."""
