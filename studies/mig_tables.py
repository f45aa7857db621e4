#!/usr/bin/env python3
"""Runs the studies scenarios/mig-*.json and writes the tables of docs/mig.md and its figure docs/mig.svg.

    python3 studies/mig_tables.py [--vgpusim PROGRAM] [--results FOLDER] [--jobs N] [--run] [-- FLAGS OF vgpusim study]

Without --run the results of an earlier run in FOLDER are taken. A table is made of the scenarios whose results are there;
one of which none is there is left as it is, and so is the figure where there is one load only. What follows "--" goes to
every study, as "--seeds 21..22 --arrivals 2000".
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from page_tables import table, with_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mig.md"
FIGURE = ROOT / "docs" / "mig.svg"
MIXES = ["uniform", "small", "big", "bimodal", "mid"]
OURS = ["bid_price", "ssp", "ssp with moves"]
POOL = "pool reference"
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#f0e442"]


def studies(results):
    """By name of the scenario, its study.json, where it is there."""
    study_of = {}
    for scenario in sorted((ROOT / "scenarios").glob("mig-*.json")):
        summary = results / scenario.stem / "study.json"
        if summary.exists():
            study_of[scenario.stem.removeprefix("mig-")] = json.loads(summary.read_text())
    return study_of


def run_all(program, results, jobs, flags):
    for scenario in sorted((ROOT / "scenarios").glob("mig-*.json")):
        subprocess.run([program, "study", scenario.relative_to(ROOT), "--out", results / scenario.stem, "--jobs", str(jobs),
                        *flags], check=True, cwd=ROOT, stdout=sys.stderr)


def cell_of(study, load=None, model=0):
    """The cell of a load, and of models the one at that position."""
    return [cell for cell in study["cells"] if load is None or cell["load"] == load][model]


def means(cell, measure):
    """By policy, in per cent."""
    return {policy["policy"]: 100 * policy[measure]["mean"] for policy in cell["policies"] if measure in policy}


def named(policy):
    return f"**`{policy}`**" if policy in OURS else policy if policy == POOL else f"`{policy}`"


def policies_of(study_of, names):
    """In the order of the first study; only those that all of them have."""
    studied = [study_of[name] for name in names]
    common = set.intersection(*({p["name"] for p in study["policies"]} for study in studied))
    return [p["name"] for p in studied[0]["policies"] if p["name"] in common]


def frozen(study_of, load, measure):
    """By mix, what Volcano's frozen layouts accept; a study of its own."""
    cells = {pathlib.PurePath(cell["model"]).name: cell for cell in study_of["frozen"]["cells"] if cell["load"] == load}
    return [means(cells[f"a100-{mix}.json"], measure)["compat:volcano"] for mix in MIXES]


def bound(mix, load, measure):
    """What no policy betters in the long run: devices have room for 1 / load of the memory that is asked for, and fewest
    pods are lost if those of whole devices are. The mixes ask for enough of these."""
    classes = json.loads((ROOT / "scenarios" / "mig-models" / f"a100-{mix}.json").read_text())["pods"]["classes"]
    units_of = {entry["name"]: int(entry["request"]["profile"].split(".")[1].removesuffix("gb")) / 5 for entry in classes}
    weight = sum(entry["weight"] for entry in classes)
    units = sum(entry["weight"] * units_of[entry["name"]] for entry in classes) / weight
    lost = max(0.0, 1 - 1 / load)
    return 100 * (1 - (lost if measure == "accepted_memory_ratio" else lost * units / max(units_of.values())))


def beside_policies(study_of, row_of):
    """The rows that are no policies of the studies of the mixes: `row_of` takes a name and (load, measure) -> by mix."""
    rows = []
    if "frozen" in study_of:
        rows.append(row_of("`compat:volcano`", lambda load, measure: frozen(study_of, load, measure)))
    rows.append(row_of("bound", lambda load, measure: [bound(mix, load, measure) for mix in MIXES]))
    return rows


def numbers(values):
    return [f"{value:.2f}" for value in values]


def at_full_load(study_of):
    """Load 1.0 by mix, in pods and, in the last column, memory."""
    rows = []
    for policy in policies_of(study_of, MIXES):
        pods, memory = ([means(cell_of(study_of[mix], 1.0), measure)[policy] for mix in MIXES]
                        for measure in ("accepted_ratio", "accepted_memory_ratio"))
        rows.append([named(policy), *numbers(pods), *numbers([statistics.fmean(pods), statistics.fmean(memory)])])

    def beside(name, by_mix):
        pods, memory = by_mix(1.0, "accepted_ratio"), by_mix(1.0, "accepted_memory_ratio")
        return [name, *numbers(pods), *numbers([statistics.fmean(pods), statistics.fmean(memory)])]

    rows += beside_policies(study_of, beside)
    return table(["policy", *MIXES, "mean", "memory, mean"], rows)


def by_load(study_of):
    """The mean over the mixes, of pods and of memory."""
    loads = [cell["load"] for cell in study_of["uniform"]["cells"]]
    rows = []
    for policy in policies_of(study_of, MIXES):
        row = [named(policy)]
        for measure in ("accepted_ratio", "accepted_memory_ratio"):
            row += numbers([statistics.fmean(means(cell_of(study_of[mix], load), measure)[policy] for mix in MIXES)
                            for load in loads])
        rows.append(row)
    rows += beside_policies(study_of, lambda name, by_mix: [name] + [
        number for measure in ("accepted_ratio", "accepted_memory_ratio")
        for number in numbers([statistics.fmean(by_mix(load, measure)) for load in loads])])
    return table(["policy", *(f"{load}" for load in loads), *(f"memory {load}" for load in loads)], rows)


def against_best(study_of, measure="accepted_ratio"):
    """The paired differences to the best baseline of each cell, and how many of them are shown either way."""
    rows = []
    for mix in MIXES:
        for cell in study_of[mix]["cells"]:
            for difference in cell["differences"]:
                if difference["best_baseline"] and difference["policy"] in OURS and difference["measure"] == measure:
                    rows.append((difference["policy"], cell["load"], mix, difference))
    lines = []
    for policy in OURS:
        mine = [row for row in rows if row[0] == policy]
        if not mine:
            continue
        for load in sorted({row[1] for row in mine}):
            cells = {row[2]: row[3] for row in mine if row[1] == load}
            lines.append([named(policy), str(load)] + [
                f"{100 * cells[mix]['mean']:+.2f} ± {50 * (cells[mix]['high_95'] - cells[mix]['low_95']):.2f} "
                f"({cells[mix]['against']})" for mix in MIXES])
    text = table(["policy", "load", *MIXES], lines)
    for policy in OURS:
        mine = [row[3] for row in rows if row[0] == policy]
        if mine:
            text += (f"\n\n`{policy}`: of {len(mine)} cells {sum(d['low_95'] > 0 for d in mine)} above the best baseline, "
                     f"{sum(d['high_95'] < 0 for d in mine)} below it, the others within the 95 % interval.")
    return text


def closed(study_of):
    """Which part of the distance from best_fit to the pool a policy closes, in pods and in memory."""
    rows = []
    loads = [cell["load"] for cell in study_of["uniform"]["cells"] if 0.8 <= cell["load"] <= 1.0]
    for policy in [p for p in policies_of(study_of, MIXES) if p in OURS or p == "fgd_literal"]:
        row = [named(policy)]
        for measure in ("accepted_ratio", "accepted_memory_ratio"):
            for load in loads:
                mean = {name: statistics.fmean(means(cell_of(study_of[mix], load), measure)[name] for mix in MIXES)
                        for name in (policy, "best_fit", POOL)}
                row.append(f"{100 * (mean[policy] - mean['best_fit']) / (mean[POOL] - mean['best_fit']):.0f} %")
        rows.append(row)
    return table(["policy", *(f"{what} {load}" for what in ("pods", "memory") for load in loads)], rows)


def other_clusters(study_of):
    """Pods and memory at load 1.0 on other GPUs and in the mixed cluster."""
    names = ["h100", "b200", "a30", "mixed-vendor"]
    rows = []
    for policy in policies_of(study_of, names):
        row = [named(policy)]
        for name in names:
            cell = cell_of(study_of[name], 1.0)
            row += [f"{means(cell, 'accepted_ratio')[policy]:.2f} / {means(cell, 'accepted_memory_ratio')[policy]:.2f}"]
        rows.append(row)
    return table(["policy", *(name + ", pods / memory" for name in names)], rows)


def weak_spots(study_of):
    """Ten GPUs, and filling: each by mix."""
    rows = []
    for policy in policies_of(study_of, ["ten-gpus", "arrival-only"]):
        row = [named(policy)]
        for name, load, measure in (("ten-gpus", 1.0, "accepted_ratio"), ("arrival-only", None, "filled_memory_ratio")):
            values = [means(cell_of(study_of[name], load, i), measure)[policy] for i in range(len(MIXES))]
            row += numbers([*values, statistics.fmean(values)])
        rows.append(row)
    return table(["policy", *(f"10: {mix}" for mix in MIXES), "10: mean", *(f"fill: {mix}" for mix in MIXES), "fill: mean"],
                 rows)


def what_was_run(study_of):
    seeds = sorted({study["config"]["seeds"] for study in study_of.values()})
    runs = sum(study["runs"] for study in study_of.values())
    cpu = sum(study["timing"]["cpu_s"] for study in study_of.values())
    wall = sum(study["timing"]["wall_s"] for study in study_of.values())
    return f"Seeds {', '.join(seeds)}; {runs} runs in {wall / 60:.1f} minutes ({cpu / 60:.1f} CPU minutes)."


def figure(study_of):
    """Accepted memory below that of the pool, by load, mean over the mixes."""
    loads = [cell["load"] for cell in study_of["uniform"]["cells"]]
    shown = [p for p in ("first_fit", "best_fit", "mcc", "mfi", "fgd_literal", *OURS) if p in policies_of(study_of, MIXES)]
    gaps = {}
    for policy in shown:
        gaps[policy] = [statistics.fmean(means(cell_of(study_of[mix], load), "accepted_memory_ratio")[POOL] -
                                         means(cell_of(study_of[mix], load), "accepted_memory_ratio")[policy] for mix in MIXES)
                        for load in loads]
    width, height, left, top, right, bottom = 720, 380, 60, 20, 170, 45
    most = max(max(line) for line in gaps.values()) * 1.05
    x = lambda load: left + (width - left - right) * (load - loads[0]) / (loads[-1] - loads[0])
    y = lambda gap: top + (height - top - bottom) * gap / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             'font-size="12"><title>Memory accepted, in points below the pool reference</title>',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for gap in range(0, int(most) + 1):
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(gap):.1f}" y2="{y(gap):.1f}" stroke="#dddddd"/>'
                     f'<text x="{left - 6}" y="{y(gap) + 4:.1f}" text-anchor="end">{-gap}</text>')
    for load in loads:
        parts.append(f'<text x="{x(load):.1f}" y="{height - bottom + 18}" text-anchor="middle">{load}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">offered load</text>')
    parts.append(f'<text x="14" y="{(top + height - bottom) / 2}" text-anchor="middle" transform="rotate(-90 14 '
                 f'{(top + height - bottom) / 2})">points of memory below the pool</text>')
    for number, (policy, line) in enumerate(gaps.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{x(load):.1f},{y(gap):.1f}" for load, gap in zip(loads, line))
        thick = 3 if policy in OURS else 1.5
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick}"/>')
        parts.append(f'<line x1="{width - right + 20}" x2="{width - right + 45}" y1="{top + 12 + 20 * number}" '
                     f'y2="{top + 12 + 20 * number}" stroke="{colour}" stroke-width="{thick}"/>'
                     f'<text x="{width - right + 52}" y="{top + 16 + 20 * number}">{policy}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"


TABLES = {"runs": (what_was_run, []), "full-load": (at_full_load, MIXES), "by-load": (by_load, MIXES),
          "against-best": (against_best, MIXES),
          "against-best-memory": (lambda study_of: against_best(study_of, "accepted_memory_ratio"), MIXES), "closed": (closed, MIXES),
          "other-clusters": (other_clusters, ["h100", "b200", "a30", "mixed-vendor"]),
          "weak-spots": (weak_spots, ["ten-gpus", "arrival-only"])}


def written(page, study_of):
    """The page with the tables whose scenarios are there."""
    for name, (make, needed) in TABLES.items():
        if study_of and all(scenario in study_of for scenario in needed):
            page = with_table(page, name, make(study_of))
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vgpusim", default=str(ROOT / "build" / "release" / "bin" / "vgpusim"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", action="store_true", help="run the studies first")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    parser.add_argument("--figure", type=pathlib.Path, default=FIGURE)
    parser.add_argument("flags", nargs="*", help="for vgpusim study, after --")
    chosen = parser.parse_args()
    results = chosen.results.resolve()
    if chosen.run:
        run_all(chosen.vgpusim, results, chosen.jobs, chosen.flags)
    study_of = studies(results)
    if not study_of:
        raise SystemExit(f"mig_tables: no study.json of scenarios/mig-*.json in {results}")
    chosen.page.write_text(written(chosen.page.read_text(), study_of))
    if all(mix in study_of and len(study_of[mix]["cells"]) > 1 for mix in MIXES):
        chosen.figure.write_text(figure(study_of))


if __name__ == "__main__":
    main()
