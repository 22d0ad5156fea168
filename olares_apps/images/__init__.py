"""Image recipes: how custom images are built, so that tag, commit and flag table agree."""
