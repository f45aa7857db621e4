"""What scripts share that write the tables of a page of docs/: a table stands between `<!-- name -->` and `<!-- /name -->`."""

import math
import re
import statistics

# Student's t, two-sided 95 %, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
           11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101, 19: 2.093, 20: 2.086}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def with_table(page, name, text):
    """The page with that text as the table of that name, which has one place."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    page, replaced = re.subn(re.escape(begin) + ".*?" + re.escape(end), lambda _: f"{begin}\n{text}\n{end}", page,
                             flags=re.DOTALL)
    if replaced != 1:
        raise SystemExit(f"the page has {replaced} places for table {name}, expected one")
    return page


def paired(mine, theirs):
    """Mean and half the 95 % interval of the differences."""
    differences = [a - b for a, b in zip(mine, theirs, strict=True)]
    n = len(differences)
    return statistics.fmean(differences), STUDENT[n - 1] * statistics.stdev(differences) / math.sqrt(n)


def mean_or_dash(values, places):
    there = [value for value in values if value is not None]
    return f"{statistics.fmean(there):.{places}f}" if there else "–"
