"""What vgpusim says of a job that is added to a queue, compared with what Kueue says (kueue.py)."""

import json
import re
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kueue_objects
from kueue_objects import GPU, POOL

# Kueue's answers by kind, with words of which one is in its message.
KINDS = [("quota is used", "insufficient unused quota"), ("quota is too small", "insufficient quota"), ("not covered", "unavailable in ClusterQueue"),
         ("taint of a flavor", "untolerated taint"), ("labels of a flavor", "match node affinity"), ("namespace", "match ClusterQueue selector"),
         ("queue is inactive", "is inactive"), ("no such queue", "doesn't exist"), ("queue is stopped", "is stopped")]


def read(folder):
    return json.loads((folder / "setups.json").read_text(encoding="utf-8"))["setups"]


def asked(vgpusim, *arguments):
    done = subprocess.run([vgpusim, *arguments], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise SystemExit(f"FAILED: vgpusim {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def ours(vgpusim, entry, folder):
    """What vgpusim says of the last job of a setup."""
    cluster, job = folder / f"{entry['setup']}.json", folder / f"{entry['setup']}-job.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*kueue_objects.nodes(), *entry["objects"]]}) + "\n", encoding="utf-8")
    job.write_text(json.dumps(entry["job"]) + "\n", encoding="utf-8")
    answer = json.loads(asked(vgpusim, "whatif", cluster, "--add-pods", job, "--json"))
    [pods] = [pod for pod in answer["pods"] if pod["name"] == entry["job"]["metadata"]["name"] and pod["origin"] == "added"]
    result = {"let_in": pods["wanted"] - pods["held_back"], "words": (pods["quota"] or {}).get("text", ""), "refused": pods["refused"],
              "nodes": sorted(place["node"] for place in pods["placed"])}
    if pods["has_devices"]:  # of others nobody asks why
        result["why"] = "held" if "would wait, queue: " in " ".join(asked(vgpusim, "why", cluster, "--pod", job).split()) else "let in"
    return result


def pods_of(job):
    return min(job["spec"]["parallelism"], job["spec"].get("completions", job["spec"]["parallelism"]))


def pools_of(entry):
    """The pools of nodes that Kueue's flavors leave to the job."""
    labels = {thing["metadata"]["name"]: thing["spec"].get("nodeLabels", {}) for thing in entry["objects"] if thing["kind"] == "ResourceFlavor"}
    return {labels[name][POOL] for name in entry["kueue"]["flavors"].values() if POOL in labels[name]}


def difference(entry, answer):
    """What differs of whether and where the job runs, in a few words; empty: nothing."""
    wanted, theirs = pods_of(entry["job"]), entry["kueue"]
    expected = theirs["pods"] if theirs["admitted"] else 0
    if answer["let_in"] != expected:
        return f"Kueue admits {expected} of {wanted}, whatif lets {answer['let_in']} in"
    if "why" in answer and (answer["why"] == "held") != (expected < wanted):
        return f"Kueue admits {expected} of {wanted}, why says {answer['why']}"
    pools = pools_of(entry) if theirs["admitted"] else set()
    if len(pools) == 1 and any(not node.startswith(min(pools)) for node in answer["nodes"]):
        return f"Kueue's flavor has the nodes of pool {min(pools)}, whatif takes {', '.join(answer['nodes'])}"
    if answer["refused"] and len(pools) < 2:  # two pools cannot both be
        return f"{answer['refused']} pods find no node"
    return ""


def reasons_of(text):
    """By flavor, what is in the way; and by flavor and resource how many GPUs more are needed."""
    kinds = {flavor: "taint" for flavor in re.findall(r"untolerated taint [^,]* in flavor (\S+?)(?:,|$)", text)}
    kinds |= {flavor: "labels" for flavor in re.findall(r"flavor (\S+) doesn't match node affinity", text)}
    kinds |= {flavor: "quota" for flavor in re.findall(r"insufficient \S*\s?quota for \S+ in flavor (\S+),", text)}
    return kinds, {flavor: amount for flavor, amount in re.findall(rf"unused quota for {GPU} in flavor (\S+), (\d+) more needed", text)}


def words_differ(entry, answer):
    """Whether the reason is another. Of resources, and so of groups of flavors, Kueue tries some first, in an order of chance."""
    if entry["kueue"]["admitted"] or "assign flavors" not in entry["kueue"]["message"] or answer["let_in"]:
        return False
    if any("unavailable in ClusterQueue" in text for text in (entry["kueue"]["message"], answer["words"])):
        return False  # of one resource, where another one lacks quota
    (kinds, amounts), (our_kinds, our_amounts) = reasons_of(entry["kueue"]["message"]), reasons_of(answer["words"])
    return not our_kinds or any(kinds.get(flavor, kind) != kind for flavor, kind in our_kinds.items()) or any(
        amounts.get(flavor, amount) != amount for flavor, amount in our_amounts.items())


def kind_of(theirs):
    """Kueue's answer by kind."""
    if theirs["admitted"]:
        return "admitted"
    if not theirs["message"]:
        return "waits behind others"
    return next((kind for kind, words in KINDS if words in theirs["message"]), "other")


def compare(vgpusim, folder):
    """Compares all setups of the folder; whether all is equal."""
    setups = read(folder)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda entry: ours(vgpusim, entry, Path(scratch)), setups))
    table, total = {}, Counter()
    for entry, answer in zip(setups, answers):
        what, other_words = difference(entry, answer), words_differ(entry, answer)
        for row in (table.setdefault(kind_of(entry["kueue"]), Counter()), total):
            row.update(setups=1, differ=bool(what), words=other_words)
        if what or other_words:
            print(f"{entry['setup']}: {what or 'other words'}\n  Kueue: {entry['kueue']}\n  vgpusim: {answer}")
    print(f"{'KUEUE':20}  {'SETUPS':>6}  {'DIFFER':>6}  {'WORDS':>6}")
    for kind, row in sorted(table.items()):
        print(f"{kind:20}  {row['setups']:6}  {row['differ']:6}  {row['words']:6}")
    print(f"{total['setups']} setups: {total['setups'] - total['differ']} answers are Kueue's, {total['differ']} differ; "
          f"the reason is another in {total['words']}")
    return not total["differ"] and not total["words"]
