"""A Gymnasium environment over the simulator's own loop: an agent chooses the node of every pod.

Importing it registers ``vgpualloc/Place-v0``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vgpualloc import _core
from vgpualloc._errors import bad_value
from vgpualloc._known import options as option_table
from vgpualloc._simulate import Result, named_options
from vgpualloc._tables import _needed

if TYPE_CHECKING:
    import gymnasium

    from vgpualloc.typing import Source
else:
    gymnasium = _needed("gymnasium", "vgpualloc.gym", "gym")

Observation = dict[str, npt.NDArray[np.float32]]

_FIELDS = ("cpu_milli", "cpu_free_milli", "gpus", "gpus_idle", "used_milli", "free_milli")


class PlaceEnv(gymnasium.Env[Observation, Any]):
    """Every step places one job; the cluster, the arrivals and what is measured are those of ``simulate()``.

    Parameters
    ----------
    nodes, pods : path, bytes or table
        As ``simulate()`` takes them.
    reward : {"accepted", "served"} or callable
        ``"accepted"``: 1 for a job that starts, else 0. ``"served"``: the GPUs that the job asks for if it starts.
        A callable gets the observations before and after the step and returns a number.
    device_policy : str, optional
        Which devices of the chosen node a pod gets; by default the policy that ``simulate()`` has by default.
    **options
        Keys of ``simulate()``, but ``policy`` and ``discipline``. The seed is that of ``reset()``, where it gives one.

    Attributes
    ----------
    nodes : list of str
        Names; an action is a position here, and the number of nodes says to leave the job. Lower positions win ties.
    action_space : gymnasium.spaces.Discrete
        Of n + 1 actions.
    observation_space : gymnasium.spaces.Dict
        ``request``: float32 (5,), of ``id cpu_milli memory_mib gpus gpu_milli`` each over the largest that occurred;
        ``nodes``: float32 (n, 6), of ``cpu_milli cpu_free_milli gpus gpus_idle used_milli free_milli``, each over the
        largest node's total.

    Raises
    ------
    TypeError
        A keyword that is not known, or ``policy`` or ``discipline``.
    InputError
        A reward that is not known, and what ``simulate()`` raises.

    Notes
    -----
    ``info`` has ``action_mask`` (int8, n + 1), ``time_s``, ``pod`` and ``illegal``: an action that does not fit counts
    as leaving the job. At the end it has ``result``.

    Examples
    --------
    >>> import vgpualloc as vg, vgpualloc.gym, gymnasium
    >>> env = gymnasium.make("vgpualloc/Place-v0", **vg.example("quickstart"))
    >>> observation, info = env.reset(seed=7)
    >>> int(info["action_mask"].sum()) > 1
    True
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, nodes: Source | None = None, pods: Source | None = None, *,
                 reward: str | Callable[[Observation, Observation], float] = "accepted",
                 device_policy: str | None = None, **options: Any) -> None:
        if not callable(reward) and reward not in ("accepted", "served"):
            raise bad_value("unknown_name", "reward", reward, '"accepted", "served" or a function')
        for key in ("policy", "discipline"):
            if key in options:
                raise TypeError(f"PlaceEnv() takes no {key}: the agent decides")
        self._reward = reward
        self._options = {"nodes": nodes, "pods": pods, "device_policy": device_policy or option_table()["policy"]["default"],
                         **options}
        self._run = self._begin(None)
        self.nodes = self._run.nodes
        totals = self._run.states()
        gpu_milli = totals[4] + totals[5]
        self._node_scale = np.maximum([totals[0].max(), totals[0].max(), totals[2].max(), totals[2].max(),
                                       gpu_milli.max(), gpu_milli.max()], 1).astype(np.float64)
        self._request_scale = np.ones(5)
        self.action_space = gymnasium.spaces.Discrete(len(self.nodes) + 1)
        spaces: dict[str, gymnasium.Space[Any]] = {
            "request": gymnasium.spaces.Box(0.0, 1.0, (5,), np.float32),
            "nodes": gymnasium.spaces.Box(0.0, 1.0, (len(self.nodes), len(_FIELDS)), np.float32)}
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Dict(spaces)
        self._fresh = True

    def _begin(self, seed: int | None) -> _core.Stepper:
        options = self._options if seed is None else {**self._options, "seed": seed}
        keys, inputs = named_options(options, "PlaceEnv")
        return _core.Stepper(keys, inputs, "py:agent")

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begins the run anew.

        Parameters
        ----------
        seed : int, optional
            The run's; without one the same again.
        options : mapping, optional
            Not used.

        Returns
        -------
        observation : dict of str to ndarray
            As ``observation_space`` says.
        info : dict

        Examples
        --------
        >>> import vgpualloc as vg, vgpualloc.gym
        >>> env = vgpualloc.gym.PlaceEnv(**vg.example("quickstart"))
        >>> env.reset(seed=7)[0]["request"].shape
        (5,)
        """
        super().reset(seed=seed)
        if not self._fresh or seed is not None:
            self._run = self._begin(seed)
        self._fresh = False
        self._request_scale = np.ones(5)
        return self._observe(), self._info(False)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Places the job that waits for a decision, or leaves it.

        Parameters
        ----------
        action : int
            A position in ``nodes``, or their number: leave it.

        Returns
        -------
        observation : dict of str to ndarray
        reward : float
        terminated, truncated : bool
            Whether every job is decided; always false.
        info : dict

        Raises
        ------
        InputError
            An action that is none.

        Examples
        --------
        >>> import vgpualloc as vg, vgpualloc.gym
        >>> env = vgpualloc.gym.PlaceEnv(**vg.example("quickstart"))
        >>> observation, info = env.reset(seed=7)
        >>> env.step(len(env.nodes))[1:4]
        (0.0, False, False)
        """
        action = int(action)
        if not 0 <= action <= len(self.nodes):
            raise bad_value("out_of_range", "action", action, f"0 to {len(self.nodes)}")
        before = self._observation
        gpus = self._run.request()[4] / 1000.0 * self._run.pods
        started = action < len(self.nodes) and self._run.place_on([action] * self._run.pods)
        if not started:
            self._run.leave()
        after = self._observe()
        if callable(self._reward):
            reward = float(self._reward(before, after))
        else:
            reward = (1.0 if self._reward == "accepted" else gpus) if started else 0.0
        return after, reward, self._run_over, False, self._info(not started and action < len(self.nodes))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions fit, bool (n + 1,), as sb3-contrib asks for it.

        Examples
        --------
        >>> import vgpualloc as vg, vgpualloc.gym
        >>> env = vgpualloc.gym.PlaceEnv(**vg.example("quickstart"))
        >>> _ = env.reset(seed=7)
        >>> bool(env.action_masks()[-1])
        True
        """
        return self._mask.astype(bool)

    def _observe(self) -> Observation:
        self._run_over = self._run.over
        states = self._run.states()
        request = np.zeros(5)
        if not self._run_over:
            request = np.asarray(self._run.request(), dtype=np.float64)
            self._request_scale = np.maximum(self._request_scale, request)
        nodes = np.clip(states.T / self._node_scale, 0.0, 1.0).astype(np.float32)
        self._observation = {"request": (request / self._request_scale).astype(np.float32), "nodes": nodes}
        return self._observation

    def _info(self, illegal: bool) -> dict[str, Any]:
        self._mask: npt.NDArray[np.int8] = np.zeros(len(self.nodes) + 1, dtype=np.int8)
        self._mask[-1] = 1
        if self._run_over:
            return {"action_mask": self._mask, "illegal": illegal, "result": Result(self._run.end())}
        self._mask[self._run.fitting()] = 1
        return {"action_mask": self._mask, "time_s": self._run.time_s, "pod": self._run.pod, "illegal": illegal}


gymnasium.register(id="vgpualloc/Place-v0", entry_point="vgpualloc.gym:PlaceEnv")
