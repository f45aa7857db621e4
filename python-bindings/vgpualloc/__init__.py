"""Shared GPUs and NPUs: replay traces under policies, ask a cluster, with the core that the real schedulers use."""

from vgpualloc._answers import Answer
from vgpualloc._calls import simulate, sweep
from vgpualloc._check import check_policy
from vgpualloc._cluster import Cluster
from vgpualloc._core import version as __version__
from vgpualloc._errors import Error, InputError, StateError
from vgpualloc._known import example, known
from vgpualloc._pods import Placement, Pod, Rejection
from vgpualloc._policies import Discipline, Policy, weighted
from vgpualloc._simulate import Result
from vgpualloc._sweep_results import Sweep
from vgpualloc._tables import Table

__all__ = ["simulate", "sweep", "known", "example", "check_policy", "weighted", "Cluster", "Pod", "Policy", "Discipline", "Result", "Sweep", "Table", "Placement", "Rejection", "Answer", "Error", "InputError", "StateError",
           "__version__"]


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__name__", "__file__", "__path__"])
