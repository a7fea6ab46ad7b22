"""`python -m scripts.attack`: see `--help`."""

import sys

from scripts.attack.catalogue import ATTACKS
from scripts.attack.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ATTACKS))
