"""The environment against simulate()."""

import warnings

import numpy as np
import pytest
import vgpualloc as vg

gymnasium = pytest.importorskip("gymnasium")
import vgpualloc.gym  # noqa: E402, F401


def play(env, choose, seed=7):
    observation, info = env.reset(seed=seed)
    total = 0.0
    while True:
        observation, reward, terminated, truncated, info = env.step(choose(info))
        total += reward
        if terminated or truncated:
            return info["result"], total


def first(info):
    return int(np.flatnonzero(info["action_mask"])[0])


def test_the_checker_of_gymnasium_is_content(quickstart):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(vgpualloc.gym.PlaceEnv(**quickstart), skip_render_check=True)


def test_the_greedy_agent_is_first_fit(quickstart):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart, device_policy="first_fit")
    result, total = play(env, first)
    policy = vg.simulate(**quickstart, policy="first_fit", seed=7)
    assert total == int(policy.pods["placed"].sum())
    for column in ("name", "node", "gpus", "placed"):
        assert list(result.pods[column]) == list(policy.pods[column])


def test_an_episode_repeats(quickstart):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart, tune=1.1)
    rng = [np.random.default_rng(3), np.random.default_rng(3)]
    results = [play(env, lambda info, r=r: int(r.choice(np.flatnonzero(info["action_mask"]))))[0] for r in rng]
    assert results[0].pods == results[1].pods
    assert results[0].summary["config"]["policy"] == "py:agent"


def test_actions_that_do_not_fit_leave_the_job(quickstart):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart)
    result, total = play(env, lambda info: 0)
    assert 0 < total < len(result.pods)
    assert int(result.pods["placed"].sum()) == total
