"""Gymnasium: an agent that chooses among the nodes that fit."""

import gymnasium
import vgpualloc as vg
import vgpualloc.gym

env = gymnasium.make("vgpualloc/Place-v0", **vg.example("quickstart"), tune=1.1)
observation, info = env.reset(seed=7)
total, done = 0.0, False
while not done:
    action = env.action_space.sample(mask=info["action_mask"])  # greedy: int(np.flatnonzero(info["action_mask"])[0])
    observation, reward, terminated, truncated, info = env.step(action)
    total += float(reward)
    done = terminated or truncated
print(info["result"])
