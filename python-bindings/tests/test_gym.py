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


@pytest.mark.parametrize("options", [{}, {"tune": 1.3}, {"departures": True, "offered_load": 1.5}])
def test_the_greedy_agent_is_first_fit(quickstart, options):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart, **options, device_policy="first_fit")
    result, total = play(env, first)
    policy = vg.simulate(**quickstart, **options, policy="first_fit", seed=7)
    assert total == int(policy.pods["placed"].sum()) < len(policy.pods) or "departures" in options
    for column in policy.pods.columns:
        if column not in ("reason", "attempts"):  # an agent leaves a job for reasons of its own
            assert np.array_equal(result.pods[column], policy.pods[column], equal_nan=result.pods[column].dtype == float), column


def episode(env, seed):
    """All that an agent that draws by its space sees of an episode."""
    observation, info = env.reset(seed=seed)
    env.action_space.seed(3)
    seen = [observation]
    while True:
        *step, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        seen.append(step)
        if step[2]:
            return seen, info["result"]


def test_an_episode_repeats(quickstart):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart, tune=1.1)
    (first_seen, first_result), (again, result), (other, _) = episode(env, 7), episode(env, 7), episode(env, 8)
    np.testing.assert_equal(first_seen, again)
    assert result.pods == first_result.pods and result.timeseries == first_result.timeseries
    assert result.summary["config"]["policy"] == "py:agent" and result.summary["seed"] == 7
    with pytest.raises(AssertionError):
        np.testing.assert_equal(first_seen[:50], other[:50])


def test_rewards_are_what_they_say(quickstart):
    def gained(before, after):
        return float(after["nodes"][:, 4].sum() - before["nodes"][:, 4].sum())

    totals = {name: play(vgpualloc.gym.PlaceEnv(**quickstart, tune=1.2, reward=reward), first)
              for name, reward in (("accepted", "accepted"), ("served", "served"), ("gained", gained))}
    result = totals["served"][0]
    assert totals["accepted"][1] == int(result.pods["placed"].sum())
    assert totals["served"][1] == pytest.approx(result.summary["gpu"]["served_ratio"] * result.summary["gpu"]["count"])
    assert totals["gained"][1] == pytest.approx(totals["served"][1] / 8, rel=1e-3)  # as a fraction of the largest node's GPUs
    with pytest.raises(vg.InputError):
        vgpualloc.gym.PlaceEnv(**quickstart, reward="most")


def test_actions_that_do_not_fit_leave_the_job(quickstart):
    env = gymnasium.make("vgpualloc/Place-v0", **quickstart)
    illegal = []

    def first_node(info):
        illegal.append(info.get("illegal"))
        return 0

    result, total = play(env, first_node)
    assert 0 < total < len(result.pods) and any(illegal)
    assert int(result.pods["placed"].sum()) == total


def test_devices_go_by_the_default_policy(quickstart):
    devices = [play(vgpualloc.gym.PlaceEnv(**quickstart, **options), first)[0].pods["gpus"].tolist()
               for options in ({}, {"device_policy": "bid_price"}, {"device_policy": "worst_fit"})]
    assert devices[0] == devices[1] != devices[2]
