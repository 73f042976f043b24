"""Run `bench-check`, also as `python -m checker`."""

from checker import exit_on_interrupt


def main() -> None:
    """Run `bench-check` with the arguments of the process."""
    exit_on_interrupt("bench-check")
    # Importing takes most of the time in which a program starts.
    from checker.cli import main

    main()


if __name__ == "__main__":
    main()
