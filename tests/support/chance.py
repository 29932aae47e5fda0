"""Random tests that can be run again: the seed is printed, and the environment may give it."""

import os
import random
import sys


def seeded(what: str, variable: str) -> random.Random:
    """A generator from the seed in the environment variable, or from a new one; tells which."""
    seed = int(os.environ.get(variable) or random.SystemRandom().randrange(2**32))
    print(f"\n{what}: {variable}={seed} draws the same again", file=sys.stderr, flush=True)
    return random.Random(seed)


def asked_count(variable: str, usual: int) -> int:
    """A number of repetitions: the environment variable's for a soak, else the usual one."""
    return int(os.environ.get(variable) or usual)
