"""What scripts share that write the tables of a page of docs/: a table stands between `<!-- name -->` and `<!-- /name -->`."""

import re


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
