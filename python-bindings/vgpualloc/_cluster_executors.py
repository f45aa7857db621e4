"""Cells of a sweep on the workers of Ray or Dask."""

from __future__ import annotations

import pickle
from typing import Any

from vgpualloc._tables import _needed

_SHARED_BYTES = 1 << 16


class _Shared:
    """Stands for an input that was sent to the workers once."""

    def __init__(self, name: str) -> None:
        self.name = name


def _split(jobs: list[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Inputs that are large, by name, and the options of every job with these names in their place."""
    places: dict[int, Any] = {}  # by identity: what stands for a value in options. Each is looked at once
    shared: dict[str, Any] = {}
    rows = []
    for job in jobs:
        options: dict[str, Any] = {}
        for key, value in job.options.items():
            if isinstance(value, (str, int, float, bool)) or value is None:
                options[key] = value
                continue
            if id(value) not in places:
                name = f"{key} {len(places)}"
                is_large = len(pickle.dumps(value)) > _SHARED_BYTES
                places[id(value)] = _Shared(name) if is_large else value
                if is_large:
                    shared[name] = value
            options[key] = places[id(value)]
        rows.append(options)
    return shared, rows


def _run(options: dict[str, Any], shared: dict[str, Any], keep: str) -> dict[str, Any]:
    from vgpualloc._sweep import own_objects, run_cell

    filled = {key: shared[value.name] if isinstance(value, _Shared) else value for key, value in options.items()}
    return run_cell(own_objects(filled), keep)


def run_on_ray(jobs: list[Any], workers: int | None, take: Any, _executor: Any) -> None:
    """Runs cells as tasks of Ray, which runs those of a worker that dies again."""
    if not jobs:
        return
    ray = _needed("ray", 'executor="ray"', "ray")
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    shared, rows = _split(jobs)
    sent = ray.put(shared)
    task = ray.remote(num_cpus=1, max_retries=-1)(_run)
    waiting = {task.remote(options, sent, job.keep): job for options, job in zip(rows, jobs)}
    try:
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for reference in done:
                take(waiting.pop(reference), ray.get(reference))
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)


def run_on_dask(jobs: list[Any], workers: int | None, take: Any, executor: Any) -> None:
    """Runs cells on the workers of Dask, which runs those of a worker that dies again."""
    if not jobs:
        return
    distributed = _needed("distributed", 'executor="dask"', "dask")
    own = isinstance(executor, str)
    client = distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) if own else executor
    try:
        shared, rows = _split(jobs)
        sent = client.scatter(shared, broadcast=True, hash=False)
        futures = {client.submit(_run, options, sent, job.keep, pure=False, retries=5): job
                   for options, job in zip(rows, jobs)}
        for future in distributed.as_completed(list(futures)):
            take(futures[future], future.result())
    finally:
        if own:
            client.close()
