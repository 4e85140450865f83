"""One command, several parts; each prints a table of ratios and leaves its figures as JSON."""

import argparse

from scripts.benchmarks import engine, relay

PARTS = {"engine": engine, "relay": relay}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    for name, part in PARTS.items():
        part.add_options(parts.add_parser(name, help=part.__doc__))
    options = parser.parse_args()
    PARTS[options.part].run(options)


main()
