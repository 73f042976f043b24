"""Run `bench-submit`, also as `python -m harness`."""

from checker import exit_on_interrupt


def main() -> None:
    """Run `bench-submit` with the arguments of the process."""
    exit_on_interrupt("bench-submit")
    # Importing takes most of the time in which a program starts.
    from harness.cli import start

    start()


if __name__ == "__main__":
    main()
