"""``python -m spectrata`` is the command ``spectrata``."""

from spectrata.cli.app import main

if __name__ == "__main__":
    main()
