#!/usr/bin/env python3
"""Compares two results of one bench program (--benchmark_out=FILE --benchmark_out_format=json).
Usage: compare.py BEFORE.json AFTER.json [--fail-above PERCENT]
Exit code 0; 1 when --fail-above is given and a benchmark became slower by more than that; 2 for bad input."""
import argparse
import sys

import figures


def compare(before, after):
    """(name, seconds before, seconds after), for the benchmarks of both, in the order of the second."""
    return [(name, figures.seconds(before[name]), figures.seconds(after[name])) for name in after if name in before]


def main():
    parser = argparse.ArgumentParser(description="Compares two results of one bench program.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--fail-above", type=float, metavar="PERCENT", help="exit 1 when something is slower by more")
    options = parser.parse_args()
    try:
        before, after = figures.read(options.before), figures.read(options.after)
    except figures.BadFile as failure:
        print(f"compare.py: {failure}", file=sys.stderr)
        return 2
    rows = compare(before, after)
    if not rows:
        print("compare.py: the two files have no benchmark in common", file=sys.stderr)
        return 2
    width = max(len(name) for name, _, _ in rows)
    print(f"{'benchmark':<{width}}  {'before':>9}  {'after':>9}  change")
    slower = []
    for name, old, new in rows:
        change = 100.0 * (new / old - 1.0) if old > 0 else 0.0
        print(f"{name:<{width}}  {figures.readable(old):>9}  {figures.readable(new):>9}  {change:+.1f} %")
        if options.fail_above is not None and change > options.fail_above:
            slower.append(name)
    for what, names in (("before", before.keys() - after.keys()), ("after", after.keys() - before.keys())):
        if names:
            shown = sorted(names)
            print(f"only {what}: {', '.join(shown[:5])}{f' and {len(shown) - 5} more' if len(shown) > 5 else ''}")
    if slower:
        print(f"slower by more than {options.fail_above} %: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
