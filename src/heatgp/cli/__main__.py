"""`python -m heatgp.cli`."""

import sys

from .main import main

sys.exit(main())
