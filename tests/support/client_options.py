"""Settings of the test clients (librdkafka through confluent-kafka): from files and from the command line."""

import argparse
from pathlib import Path

# librdkafka tells every connection attempt to stderr; the tools report what matters themselves.
QUIET = {"log_level": 2}


def read_properties(path: str | Path) -> dict[str, str]:
    """Lines KEY=VALUE of librdkafka's settings; '#' starts a comment line."""
    settings: dict[str, str] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"{path}:{number}: '{line}' is not KEY=VALUE")
        settings[key.strip()] = value.strip()
    return settings


def client_settings(bootstrap: str, properties: str | Path | None = None) -> dict[str, object]:
    """What every client of one cluster is made with."""
    settings: dict[str, object] = {"bootstrap.servers": bootstrap, **QUIET}
    if properties:
        settings.update(read_properties(properties))
    return settings


def add_cluster(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """Adds the positional argument NAME (a bootstrap string) and the option --NAME-config."""
    parser.add_argument(name, metavar=name.upper(), help=f"bootstrap string of {what}, HOST:PORT,...")
    parser.add_argument(f"--{name}-config", metavar="FILE",
                        help=f"librdkafka settings for {what}, KEY=VALUE lines such as security.protocol=SASL_SSL")


def cluster_settings(arguments: argparse.Namespace, name: str) -> dict[str, object]:
    """The settings that the arguments of add_cluster() stand for."""
    return client_settings(getattr(arguments, name), getattr(arguments, f"{name}_config"))
