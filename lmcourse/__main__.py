"""`python -m lmcourse ...` and `torchrun --nproc-per-node N -m lmcourse train ...`."""

import sys

from lmcourse.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
