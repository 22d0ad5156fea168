"""Pages for people: the catalogue, one page per app, the leaderboard."""
