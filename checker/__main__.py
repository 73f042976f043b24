"""`python -m checker` is `bench-check`."""

from checker.cli import main

if __name__ == "__main__":
    main()
