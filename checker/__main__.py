"""Run `bench-check` as `python -m checker`."""

from checker.cli import main

if __name__ == "__main__":
    main()
