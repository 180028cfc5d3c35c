"""`python -m deskmate`: the command line."""

import sys

from deskmate.faces.cli.main import main

sys.exit(main())
