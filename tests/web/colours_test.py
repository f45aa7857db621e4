"""vgpualloc.html as it is seen without red and green, without blue, and without any colour: states are told apart by pattern and word."""

import itertools
import unittest

import pixels
from page_support import PageTest

STATES = ("used", "free", "of use", "scattered", "host full", "wrong kind", "out of service")
SIGHTS = ("none", "deuteranopia", "protanopia", "tritanopia", "achromatopsia")
# How much two patches of one size differ, from 0 to 1: at least in so many of their points by light alone.
POINTS_LEAST = 0.12
CONTRAST_LEAST = 1.5


def contrast(one, other):
    light, dark = max(one, other), min(one, other)
    return (light + 0.05) / (dark + 0.05)


def points_that_differ(one, other):
    """The share of points that are lighter or darker in the one picture than in the other, so that it is seen."""
    pairs = list(zip(itertools.chain(*one), itertools.chain(*other), strict=True))
    return sum(contrast(pixels.grey(left), pixels.grey(right)) >= CONTRAST_LEAST for left, right in pairs) / len(pairs)


class Colours(PageTest):
    def patches(self):
        """Pixels of each state, as the keys of See show it."""
        keys = "[...document.querySelectorAll('.key li')]"
        result = {}
        for state in STATES:
            script = f"{keys}.find((entry) => entry.textContent.replace(/ [0-9.]+$/, '') === '{state}').querySelector('svg')"
            result[state] = pixels.of_element(self.browser, script)
        return result

    def test_states_are_told_apart(self):
        for dark in (False, True):
            self.open(dark=dark)
            self.try_atlas()
            for sight in SIGHTS:
                self.browser.call("Emulation.setEmulatedVisionDeficiency", type=sight)
                patches = self.patches()
                for one, other in itertools.combinations(STATES, 2):
                    share = points_that_differ(patches[one], patches[other])
                    self.assertGreaterEqual(share, POINTS_LEAST, f"{one} and {other}, {sight}, {'dark' if dark else 'light'}")
        self.browser.call("Emulation.setEmulatedVisionDeficiency", type="none")
        self.browser.events.clear()  # the emulation asks for filters of its own

    def test_each_state_has_a_word(self):
        self.try_atlas()
        words = self.browser.evaluate("[...document.querySelectorAll('.key li')].map((entry) => entry.textContent.replace(/ [0-9.]+$/, ''))")
        self.assertEqual(set(words), set(STATES))
        for part in self.browser.evaluate("[...document.querySelectorAll('.share[role=img], .strips svg')].map((bar) => bar.getAttribute('aria-label') ?? '')"):
            self.assertRegex(part, r"used .*free|of use .*scattered|[0-9.]+ of [0-9.]+ used, [0-9.]+ free")

    def test_changes_have_a_mark_beside_the_colour(self):
        self.try_atlas()
        self.go("whatif")
        self.choose("change", "--drain")
        self.choose("set", "a100-*")
        self.drawn("document.getElementById('add').click()")
        fates = self.browser.evaluate("[...document.querySelector('#whatif-answer [role=region][aria-label$=\"pods\"]').querySelectorAll('tbody tr')].map((row) => row.cells[1].textContent)")
        self.assertTrue(fates)
        for fate in fates:
            self.assertRegex(fate, r"^([+~] |- stops: |\. )[a-z ]+$")
        self.assertIn("- stops: never", fates)


if __name__ == "__main__":
    unittest.main()
