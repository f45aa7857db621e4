"""Cells on the workers of a cluster, one of which dies."""

import os
import signal

import distributed
import vgpualloc as vg

GRID = {"policy": ["fgd", "best_fit"], "seed": range(20)}


def without_times(table):
    return [{key: repr(value) for key, value in row.items() if key != "seconds"} for row in table.to_dict()]


def test_a_worker_that_is_killed_loses_no_cell(quickstart):
    lists = {name: path.read_bytes() for name, path in quickstart.items()}
    killed = []
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        workers = sorted(client.run(os.getpid).values())

        def kill_one(done, total):
            if done >= 4 and not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        sweep = vg.sweep(GRID, **lists, executor=client, progress=kill_one)
    assert killed and len(sweep.errors) == 0
    assert without_times(sweep.table) == without_times(vg.sweep(GRID, **lists).table)
