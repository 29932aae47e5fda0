"""The parts of scripts/bench, importable by their plain names."""

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parent.parent / "support"):
    sys.path.insert(0, str(folder))
