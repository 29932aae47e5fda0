"""Tests of the daemon against real Apache Kafka clusters.

Each file starts what it needs through scripts/kafka in a directory of its own, and stops it. From the project's root:

    MIRRORD_DAEMON=build/release/kafka-mirrord .cache/venv/bin/python -m unittest -v tests/integration/refusals_test.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
