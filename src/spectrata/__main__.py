"""``python -m spectrata`` is the command ``spectrata``."""

from spectrata.cli import main

if __name__ == "__main__":
    main()
