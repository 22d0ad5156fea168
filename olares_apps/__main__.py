"""``python -m olares_apps``: the same command as ``olapps``."""

from olares_apps.cli import main

if __name__ == "__main__":
    main()
