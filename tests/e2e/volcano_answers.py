"""What vgpusim says of a job that is added to a queue of Volcano, compared with what Volcano does (volcano.py)."""

import json
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kueue_answers import asked, read


def ours(vgpusim, entry, folder):
    """What vgpusim says of the last job of a setup."""
    cluster, job = folder / f"{entry['setup']}.json", folder / f"{entry['setup']}-added.json"
    for path, items in ((cluster, entry["objects"]), (job, entry["added"])):
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}) + "\n", encoding="utf-8")
    answer = json.loads(asked(vgpusim, "whatif", cluster, "--add-pods", job, "--json"))
    pods = [pod for pod in answer["pods"] if pod["origin"] == "added"]
    return {"wanted": sum(pod["wanted"] for pod in pods), "let_in": sum(pod["wanted"] - pod["held_back"] for pod in pods),
            "placed": sum(len(pod["placed"]) for pod in pods), "words": next((pod["quota"]["text"] for pod in pods if pod["quota"]), "")}


def difference(entry, answer):
    """What differs, in a few words; empty: nothing."""
    theirs = entry["volcano"]
    if theirs["phase"] == "Pending" and answer["let_in"]:
        return f"Volcano lets nobody in, whatif {answer['let_in']} of {answer['wanted']}"
    # Pods that wait for the share of their queue are placed before those that are added, and may take their room.
    if theirs["bound"] not in (answer["let_in"], answer["placed"]):
        return f"Volcano starts {theirs['bound']} of {answer['wanted']} ({theirs['phase']}), whatif lets {answer['let_in']} in and starts {answer['placed']}"
    return ""


def kind_of(theirs, wanted):
    """Volcano's answer by kind."""
    if theirs["phase"] == "Pending":
        return "not let in"
    return "all start" if theirs["bound"] == wanted else "some start" if theirs["bound"] else "let in, none start"


def compare(vgpusim, folder):
    """Compares all setups of the folder; whether all is equal."""
    setups = read(folder)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda entry: ours(vgpusim, entry, Path(scratch)), setups))
    table, differing, placed_otherwise = {}, 0, 0
    for entry, answer in zip(setups, answers):
        what = difference(entry, answer)
        placed_otherwise += answer["placed"] != entry["volcano"]["bound"]
        table.setdefault(kind_of(entry["volcano"], answer["wanted"]), Counter()).update(setups=1, differ=bool(what))
        if what:
            differing += 1
            print(f"{entry['setup']}: {what}\n  Volcano: {entry['volcano']}\n  vgpusim: {answer}")
    print(f"{'VOLCANO':20}  {'SETUPS':>6}  {'DIFFER':>6}")
    for kind, row in sorted(table.items()):
        print(f"{kind:20}  {row['setups']:6}  {row['differ']:6}")
    print(f"{len(setups)} setups: {len(setups) - differing} answers are Volcano's, {differing} differ; {placed_otherwise} place other numbers of pods")
    return not differing
