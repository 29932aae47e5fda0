"""Makes the modules of this folder importable by their plain names, as they are when one is run as a program."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
