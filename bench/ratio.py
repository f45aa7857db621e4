#!/usr/bin/env python3
"""The whole process against the files alone, from a result of bench_replay. Usage: ratio.py REPLAY.json"""
import sys

import figures


def rows(by_name):
    for name, entries in by_name.items():
        if not name.startswith("process/"):
            continue
        what = name.removeprefix("process/").removesuffix("/manual_time")
        files = by_name.get(f"files/{what}/manual_time")
        if files:
            yield what, figures.seconds(entries), figures.seconds(files), figures.counter(entries, "peak_rss_mib")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        compared = list(rows(figures.read(sys.argv[1])))
    except figures.BadFile as failure:
        print(f"ratio.py: {failure}", file=sys.stderr)
        return 2
    if not compared:
        print("ratio.py: nothing to compare: no process/ and files/ benchmarks of one name", file=sys.stderr)
        return 2
    print(f"{'vgpusim run':<34} {'CPU ms':>8} {'files ms':>9} {'ratio':>7} {'peak MiB':>9}")
    for what, process, files, rss in compared:
        print(f"{what:<34} {process * 1e3:>8.1f} {files * 1e3:>9.2f} {process / files:>7.1f} {rss:>9.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
