"""Random choices of the generators of clusters."""

import random


class Draws:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, part):
        return self.random.random() < part

    def one(self, *values):
        return self.random.choice(values)

    def some(self, values, most):
        return self.random.sample(values, self.random.randint(1, min(most, len(values))))
