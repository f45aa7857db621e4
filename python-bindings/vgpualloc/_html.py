"""What notebooks show: tables, cards, bars and lines. Texts are escaped; there is no script, and colours suit dark and light pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from vgpualloc._cluster_view import ClusterView
    from vgpualloc._simulate import Result
    from vgpualloc._sweep_results import Sweep
    from vgpualloc._tables import Table

_FAINT = "rgba(128,128,128,.4)"  # on any background
_LINES = (("#2f8fd0", ""), ("#d97b29", "4 3"))  # colour and dashes: where two curves are one, both are seen
_LINE_POINTS = 300
_COLUMNS_MAX = 12
_BAR = (("used", "#2f8fd0"), ("idle", "#8a9aa8"), ("out of service", "#d97b29"))


def text(value: object) -> str:
    """A value as a reader wants it, escaped."""
    if isinstance(value, bool) or value is None:
        value = {True: "yes", False: "no", None: ""}[value]
    elif isinstance(value, float):
        value = "" if value != value else f"{value:.6g}"
    return html.escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], kinds: Sequence[str] = ()) -> str:
    """`kinds`: a small line below each name of the head. A cell that is Markup stays as it is."""
    names = "".join(f"<th>{text(name)}{f'<br><small>{text(kind)}</small>' if kind else ''}</th>"
                    for name, kind in zip(head, kinds or [""] * len(head)))
    body = "".join("<tr>" + "".join(f"<td>{cell if isinstance(cell, Markup) else text(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


class Markup(str):
    """Text that is HTML already."""


def paragraph(words: str) -> str:
    return f"<p>{text(words)}</p>"


def _cards(figures: Iterable[tuple[str, str, str]]) -> str:
    """Of each figure a name, the number, and what it is of."""
    shown = "".join(f'<div style="border:1px solid {_FAINT};border-radius:8px;padding:6px 12px"><small>{text(name)}</small>'
                    f"<br><b>{text(number)}</b> <small>{text(detail)}</small></div>" for name, number, detail in figures)
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px;margin:4px 0">{shown}</div>'


def _bar(parts: Sequence[int], total: int) -> Markup:
    """Parts of a whole, side by side, in the order and colours of _BAR."""
    shown = "".join(
        f'<span title="{name} {100 * part / total:.1f} %" style="background:{colour};width:{100 * part / total:.2f}%"></span>'
        for (name, colour), part in zip(_BAR, parts) if part > 0)
    return Markup(f'<div style="display:flex;width:220px;height:12px;border:1px solid {_FAINT}">{shown}</div>')


def _lines(x: npt.NDArray[Any], curves: Mapping[str, npt.NDArray[Any]], words: str) -> str:
    """Curves in percent over x, as an SVG, with `words` below."""
    width, height = 480.0, 90.0
    if not len(x):
        return ""
    step = max(1, len(x) // _LINE_POINTS)
    first, span = float(x[0]), (float(x[-1]) - float(x[0])) or 1.0
    drawn, names = "", []
    for (name, values), (colour, dashes) in zip(curves.items(), _LINES):
        points = " ".join(f"{(float(x[i]) - first) / span * width:.1f},{height - min(max(float(values[i]), 0.0), 100.0) / 100 * height:.1f}"
                          for i in [*range(0, len(x), step), len(x) - 1])
        drawn += f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dashes}" points="{points}"/>'
        names.append(f'<span style="color:{colour}">{text(name)}</span>')
    return (f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
            f'style="border:1px solid {_FAINT};max-width:100%">{drawn}</svg><br><small>{", ".join(names)} {text(words)}</small>')


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "–"


def of_result(result: Result) -> str:
    """The figures of the report's cards, allocation as a line, and why pods were not placed."""
    summary = result.summary
    gpu, pods, leave = summary["gpu"], summary["pods"], result._outcome.pods_leave()
    total = gpu["total_milli"]
    when = "mean over time" if leave else "at the end"
    figures = [(f"GPUs served, {when}", _percent(gpu["served_ratio"], 1), "what running pods asked for, of all GPUs"),
               ("GPUs accepted, of those asked for", _percent(summary["acceptance"]["accepted_gpu_ratio"], 1),
                "asked for by the pods that were placed"),
               (f"GPUs allocated, {when}", _percent(gpu["allocation_mean_ratio"], 1), "of all GPUs")]
    if leave:
        figures.append(("GPUs allocated, at the peak", _percent(gpu["allocation_peak_ratio"], 1), "of all GPUs"))
    figures += [(f"Fragmentation, of all GPUs, {when}", _percent(summary["fragmentation"]["mean_milli"], total),
                 "idle, but of no use to a typical pod"),
                ("Pods placed", f"{pods['placed']:,}", f"of {pods['arrived']:,}, {_percent(pods['placed'], pods['arrived'])}"),
                ("Pods not placed", f"{pods['failed']:,}", "")]
    if "wait_s" in summary:
        figures.append(("Wait", f"{summary['wait_s']['mean']:.6g} s", "on average"))
    series = result.timeseries
    shares = {name: series[f"{name}_milli"] * (100.0 / max(total, 1)) for name in ("allocated", "served")}
    x = series["time"] if leave else series["arrived_milli"]
    reasons = sorted(pods["failed_by_reason"].items(), key=lambda entry: -entry[1])
    return (f"<div>{paragraph(repr(result))}{_cards(figures)}"
            f"{_lines(x, shares, 'in % of all GPUs, over ' + ('time' if leave else 'arrived load'))}"
            f"{table(('reason', 'pods not placed'), reasons) if reasons else ''}</div>")


def of_cluster(cluster: ClusterView) -> str:
    """A row for each pool, which is the devices of one model and mode, with a bar."""
    pools: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for device in cluster.devices.to_dict():
        pools.setdefault((device["model"], device["mode"]), []).append(device)
    rows: list[Sequence[object]] = []
    for (model, mode), devices in pools.items():
        total = 1000 * len(devices)
        used = sum(device["used_milli"] for device in devices)
        out = sum(1000 - device["used_milli"] for device in devices if device["service"] != "in_service")
        parts = (used, total - used - out, out)
        rows.append((model, mode, len({device["node"] for device in devices}), len(devices), _bar(parts, total),
                     *(_percent(part, total) for part in parts)))
    without = sum(gpus == 0 for gpus in cluster.nodes["gpus"].tolist())
    if without:
        rows.append(("no device", "", without, 0))
    return (f"<div>{paragraph(repr(cluster))}"
            f"{table(('pool', 'mode', 'nodes', 'devices', '', *(name for name, _ in _BAR)), rows)}</div>")


def of_answer(words: str, figures: Mapping[str, object], groups: Mapping[str, Mapping[str, object]], tables: Mapping[str, Table]) -> str:
    """The tables of an answer, and its whole text below, folded. Groups of figures before and after stand side by side."""
    shown = table(("", ""), _filled(figures)) if figures else ""
    alike = [key for key in ("before", "after") if key in groups]
    if len(alike) == 2:
        names = list(dict.fromkeys(name for key in alike for name in groups[key]))
        shown += table(("", *alike), [(name, *(groups[key].get(name) for key in alike)) for name in names])
    for key, group in groups.items():
        if len(alike) < 2 or key not in alike:
            shown += f"<p><b>{text(key)}</b></p>{table(('', ''), _filled(group))}"
    for key, rows in tables.items():
        shown += f"<p><b>{text(key)}</b></p>{rows._repr_html_()}"
    return f"<div>{shown}<details><summary>text</summary><pre>{text(words)}</pre></details></div>"


def _filled(figures: Mapping[str, object]) -> list[tuple[str, object]]:
    return [(name, value) for name, value in figures.items() if value not in (None, "")]


def of_sweep(sweep: Sweep) -> str:
    """Means with deviations, and the differences that seeds do not explain."""
    keys = sweep._keys
    by = "policy" if "policy" in keys else keys[0] if keys else ""
    if not by:
        return paragraph(repr(sweep))
    means: dict[str, dict[Any, str]] = {}
    mean = sweep.mean(by)
    for row in mean.to_dict():
        spread = f" ± {row['sd']:.3g}" if row["sd"] == row["sd"] else ""
        means.setdefault(row["measure"], {})[row[by]] = f"{row['mean']:.6g}{spread}"
    labels = list(dict.fromkeys(mean[by].tolist())) if len(mean) else []
    shown = mean._repr_html_() if len(labels) > _COLUMNS_MAX else table(
        ("mean ± sd", *map(str, labels)), [(measure, *(of.get(label, "") for label in labels)) for measure, of in means.items()])
    differences = ""
    if len(labels) > 1:
        compared = sweep.differences(by, against=labels[0])
        rows = [row for row in compared.to_dict() if row["shown"] != "no difference"]
        differences = table(compared.columns, [list(row.values()) for row in rows]) if rows else paragraph(
            f"no difference from {labels[0]} is shown")
    return f"<div>{paragraph(repr(sweep))}{shown}{differences}</div>"
