"""The files of a sweep that is a study: what its cells have beside their figures, and how these are put together."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgpualloc import _core
from vgpualloc._errors import Error, bad_value
from vgpualloc._inputs import checked_path, named_input
from vgpualloc._known import options as option_table
from vgpualloc._policies import Discipline, Policy
from vgpualloc._simulate import named_options

if TYPE_CHECKING:
    from vgpualloc._sweep_results import Sweep

_VARIED = ("pods", "offered_load", "policy", "seed")  # the slowest first


def part_of_cell(outcome: _core.Outcome) -> dict[str, Any]:
    """What files and comparisons need of a run beside figures and curve. It goes through JSON."""
    return {"inputs": outcome.input_files(), "listed": outcome.listed(), "losses": _core.losses(outcome),
            "accepted": _core.accepted(outcome),
            "means": outcome.means(), "jobs_of_waits": outcome.jobs_of_waits()}


def settings_of(options: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Every setting of a cell as names and values, inputs by their names; None where they are refused."""
    table = option_table()
    plain: dict[str, Any] = {}
    objects: list[tuple[str, str]] = []
    for key, value in options.items():
        if isinstance(value, (Policy, Discipline)):
            objects.append((key, value._label))
        elif key in table:
            is_content = table[key]["type"] == "input" and not isinstance(value, (str, os.PathLike, type(None)))
            plain[key] = f"<{key}>" if is_content else value
    try:
        names, named = named_options(plain, "sweep")
        if options.get("scenario") is not None:
            name, more = named_input("scenario", options["scenario"])
            names.insert(0, ("scenario", name))
            named += more
        return [*_core.settings(names, named), *objects]
    except (Error, OSError, TypeError):
        return None


def write_study(sweep: Sweep, folder: Any) -> list[Path]:
    """Sweep.write()."""
    path = Path(checked_path("folder", folder))
    rows = sweep.table.to_dict()
    failed = next((row for row in rows if row["error"]), None)
    if failed is not None:
        raise bad_value("unsupported", "cell", failed["cell"], f"cells that ran: {failed['error']}")
    record = sweep._record
    settings = dict(record["settings"])
    is_of_models = settings["format"] == "model"
    spread = _spread(sweep._keys, rows)
    loads = [float(load) for load in spread.get("offered_load", ())]
    if not loads and is_of_models and float(settings["offered_load"]) > 0:
        loads = [float(settings["offered_load"])]
    lists, policies = ([str(label) for label in spread.get(key, [settings[key]])] for key in ("pods", "policy"))
    seeds = _consecutive(spread.get("seed", [settings["seed"]]))
    kept_settings = [(key, value) for key, value in settings.items()
                     if key not in _VARIED or (key == "offered_load" and not loads)]
    study = _core.Study(os.fspath(path), kept_settings, policies, lists, loads, (seeds[0], seeds[-1]))
    if record["keep"] == "figures" and not is_of_models:
        raise bad_value("unsupported", "keep", "figures", '"curves" or "all": a study has values at every percent of load')

    axes: list[list[Any]] = [spread.get(key, [None]) for key in _VARIED[:-1]] + [list(seeds) if "seed" in spread else [None]]
    at = {tuple(_label(key, row) for key in _VARIED): number for number, row in enumerate(rows)}
    order = list(itertools.product(*axes))
    if len(rows) != len(order) or any(cell not in at for cell in order):
        raise bad_value("unsupported", "grid", f"{len(rows)} cells",
                        f"each of the {len(order)} combinations of {', '.join(spread)} once")
    numbers = [at[cell] for cell in order]
    parts = [record["cells"][number] for number in numbers]
    for name, checksum in _inputs_of(parts, len(lists), len(seeds), is_of_models):
        study.add_input(name, checksum)
    for part in parts[::len(parts) // len(lists)]:
        study.add_list(part["listed"])
    if is_of_models:
        for part in parts:
            study.add_losses(*part["losses"])
    else:
        _add_curves(study, sweep, numbers)
    return [path / name for name in study.write(*record["timing"])]


def _spread(keys: list[str], rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What a study varies, with the values in the order of the grid."""
    spread = {}
    for key in keys:
        values = list(dict.fromkeys(row[key] for row in rows))
        if key in _VARIED:
            if any(value is None or value != value for value in values):
                raise bad_value("missing", key, "", "a value in every cell", "grid")
            spread[key] = values
        elif len(values) > 1:
            raise bad_value("unsupported", key, ", ".join(map(str, values)),
                            "one value, as the files of a study are over policy, pods, seed and, of models, offered_load", "grid")
    return spread


def _label(key: str, row: Mapping[str, Any]) -> Any:
    value = row.get(key)
    return int(value) if key == "seed" and value is not None else value


def _consecutive(values: list[Any]) -> range:
    seeds = sorted(int(value) for value in values)
    if seeds[-1] - seeds[0] != len(seeds) - 1 or seeds[0] < -(1 << 63) or seeds[-1] >= 1 << 63:
        raise bad_value("unsupported", "seed", ", ".join(map(str, values)),
                        "seeds that follow each other, as FIRST..LAST names them, from -2^63 to 2^63 - 1", "grid")
    return range(seeds[0], seeds[-1] + 1)


def _inputs_of(parts: list[dict[str, Any]], lists: int, seeds: int, is_of_models: bool) -> list[tuple[str, str]]:
    """Paths and checksums in the order of the file: of models as the first seed's runs read them, else nodes, lists, prices."""
    if is_of_models:
        return list(dict.fromkeys((name, checksum) for part in parts[::seeds] for name, checksum in part["inputs"]))
    of_lists = [part["inputs"] for part in parts[::len(parts) // lists]]
    nodes, _, *others = of_lists[0]
    return [tuple(pair) for pair in (nodes, *(inputs[1] for inputs in of_lists), *others)]


def _add_curves(study: _core.Study, sweep: Sweep, numbers: list[int]) -> None:
    """The runs, by the position of their cells in the table."""
    columns = [sweep.curves[name] for name in sweep.curves.columns if name not in ("cell", *sweep._keys)]
    ends = list(itertools.accumulate(sweep._record["rows"]))
    arrived, failed = sweep.table["arrived"], sweep.table["failed"]
    for number in numbers:
        rows = slice(ends[number] - sweep._record["rows"][number], ends[number])
        study.add_run([column[rows].tolist() for column in columns], int(arrived[number]), int(failed[number]),
                      sweep._record["cells"][number]["accepted"])
