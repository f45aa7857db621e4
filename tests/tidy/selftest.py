#!/usr/bin/env python3
"""Plants one defect at a time and demands that tidy.py flags it, at its line, and leaves clean look-alikes alone."""
import sys
import unittest

import arrows
import bans
import headers
import mirror
import source
import tidy

HEADERS = "libvgpualloc/core/include/vgpualloc/"
KUBERNETES, COMPAT, PLAN, UMBRELLA = (HEADERS.replace("core", layer) for layer in ("kubernetes", "compat", "plan", "umbrella"))

# (rule, path, text): the defect is always on the last line.
PLANTED = [
    # arrows between parts
    ("arrow", HEADERS + "core/units.hpp", '#include "vgpualloc/model/device.hpp"'),
    ("arrow", HEADERS + "model/device.hpp", '// fine\n#include "vgpualloc/catalog/mig.hpp"'),
    ("arrow", HEADERS + "catalog/mig.hpp", '#include "vgpualloc/mode/mig.hpp"'),
    ("arrow", HEADERS + "mode/mig.hpp", '#include "vgpualloc/policy/fgd.hpp"'),
    ("arrow", HEADERS + "mode/mig.hpp", '#include "vgpualloc/dialect/hami.hpp"'),
    ("arrow", HEADERS + "metrics/fairness.hpp", '#include "vgpualloc/mode/mig.hpp"'),
    ("arrow", HEADERS + "verify/state.hpp", '#include "vgpualloc/mode/mig.hpp"'),
    ("arrow", HEADERS + "verify/state.hpp", '#include "vgpualloc/alloc/allocator.hpp"'),
    ("arrow", HEADERS + "policy/fgd.hpp", '#include "vgpualloc/alloc/allocator.hpp"'),
    ("arrow", HEADERS + "policy/all.hpp", '#include "vgpualloc/compat/fgd.hpp"'),
    ("arrow", HEADERS + "alloc/allocator.hpp", '#include "vgpualloc/plan/flow.hpp"'),
    ("arrow", HEADERS + "alloc/allocator.hpp", "#include <vgpualloc/plan/flow.hpp>"),
    ("arrow", COMPAT + "compat/fgd/score.hpp", '#include "vgpualloc/alloc/allocator.hpp"'),
    ("arrow", COMPAT + "compat/volcano/fit.hpp", '#include "vgpualloc/mode/hami_core.hpp"'),
    ("arrow", COMPAT + "compat/volcano.hpp", '#include "vgpualloc/policy/binpack.hpp"'),
    ("arrow", PLAN + "plan/flow.hpp", '#include "vgputraces/openb.hpp"'),
    ("arrow", "libvgpualloc/core/src/mode/mig.cpp", '#include "vgpualloc/policy/fgd.hpp"'),
    ("arrow", "libvgpualloc/core/src/model/ledger.cpp",
     '#include "vgpualloc/model/ledger.hpp"\n#include "vgpualloc/policy/fgd.hpp"'),
    ("arrow", "libvgpualloc/core/src/policy/parse.cpp",
     '#include "vgpualloc/policy/parse.hpp"\n#include "vgpualloc/alloc/allocator.hpp"'),
    ("arrow", "traces/src/openb.cpp", '#include "vgpualloc/alloc/allocator.hpp"'),
    ("arrow", "traces/src/openb.cpp", '#include "vgpusim/study/run.hpp"'),
    ("arrow", "simulator/src/engine/loop.cpp", '#include "../cli/commands.hpp"'),
    # arrows between the folders of the simulator, and from what asks about living clusters
    ("arrow", "simulator/include/vgpusim/workload/load.hpp", '#include "vgpusim/study/run.hpp"'),
    ("arrow", "simulator/include/vgpusim/engine/loop.hpp", '#include "vgpusim/discipline/all.hpp"'),
    ("arrow", "simulator/src/outputs/files.cpp", '#include "vgpusim/study/run.hpp"'),
    ("arrow", "operations/src/whatif/answer.cpp", '#include "vgpusim/workload/settings.hpp"'),
    # arrows between layers
    ("arrow", HEADERS + "catalog/mig.hpp", '#include "vgpuformats/json.hpp"'),
    ("arrow", KUBERNETES + "live/live.hpp", '#include "vgpualloc/compat/all.hpp"'),
    ("arrow", UMBRELLA + "vgpualloc.hpp", '#include "vgpualloc/compat/all.hpp"'),
    ("arrow", "libvgpualloc/kubernetes/src/dialect/hami.cpp", "#include <nlohmann/json.hpp>"),
    # third parties
    ("arrow", HEADERS + "core/error.hpp", "#include <tl/expected.hpp>"),
    ("arrow", HEADERS + "policy/fgd.hpp", "#include <Eigen/Core>"),
    ("arrow", "libvgpualloc/core/src/alloc/place.cpp", "#include <Eigen/Core>"),
    ("arrow", "libvgpualloc/core/src/alloc/place.cpp", "#include <boost/graph/adjacency_list.hpp>"),
    ("arrow", "simulator/src/engine/loop.cpp", "#include <CLI/CLI.hpp>"),
    ("arrow", HEADERS + "mode/mig.hpp", "#include <nlohmann/json.hpp>"),
    ("arrow", "conformance/src/recording.hpp", "#include <nlohmann/json.hpp>"),
    ("arrow", "libvgpualloc/core/include/vgpuformats/document.hpp", "#include <nlohmann/json.hpp>"),
    ("arrow", HEADERS + "model/device.hpp", "#include <fmt/format.h>"),
    ("arrow", HEADERS + "model/device.hpp", "#include <unistd.h>"),
    ("arrow", "simulator/src/engine/loop.cpp", "#include <some/new_library.hpp>"),
    # files that the table cannot place
    ("arrow", HEADERS + "solve/lp.hpp", "int x;"),
    ("arrow", HEADERS + "plan/flow.hpp", "int x;"), # the folder of another layer
    ("arrow", HEADERS + "stray.hpp", "int x;"),
    ("arrow", "libvgpualloc/core/src/nameless.cpp", "int x;"),
    ("arrow", "simulator/src/engine/loop.cpp", '#include "no_such_file.hpp"'),
    # link lines
    ("link", "traces/CMakeLists.txt", "# fine\ntarget_link_libraries(vgputraces PUBLIC vgpualloc::vgpualloc)"),
    ("link", "simulator/report/CMakeLists.txt", "target_link_libraries(vgpureport PUBLIC vgpualloc::kubernetes)"),
    ("link", "operations/CMakeLists.txt", "target_link_libraries(vgpuops PRIVATE vgpusim_core)"),
    ("link", "operations/CMakeLists.txt", "target_link_libraries(vgpuops PRIVATE vgpualloc_internals)"),
    ("link", "operations/CMakeLists.txt", "target_link_libraries(vgpunew PRIVATE vgputraces)"),
    # words
    ("random", HEADERS + "core/rng.hpp", "#include <random>"),
    ("std-random", "simulator/src/engine/loop.cpp", "std::shuffle(a, b, c);"),
    ("std-random", "traces/src/generator.cpp", "std::uniform_int_distribution<int> draw;"),
    ("random_device", "simulator/src/engine/loop.cpp", "std::random_device seed;"),
    ("rand", "simulator/src/engine/loop.cpp", "int x = rand();"),
    ("rand", "simulator/src/engine/loop.cpp", "std::srand(1);"),
    ("std-hash", HEADERS + "core/hash.hpp", "/* fine */ std::hash<int> h;"),
    ("time", "simulator/src/engine/loop.cpp", "auto now = std::time(nullptr);"),
    ("time", "simulator/src/engine/loop.cpp", "auto now = time(0);"),
    ("system_clock", "simulator/src/engine/loop.cpp", "std::chrono::system_clock::now();"),
    ("clock", "libvgpualloc/core/src/mode/mig.cpp", "std::chrono::steady_clock::now();"),
    ("pure", "libvgpualloc/core/src/mode/mig.cpp", "#include <iostream>"),
    ("pure", HEADERS + "mode/mig.hpp", "#include <thread>"),
    ("lock", HEADERS + "mode/mig.hpp", "#include <mutex>"),
    ("getenv", "libvgpualloc/core/src/mode/mig.cpp", 'std::getenv("HOME");'),
    ("long-double", HEADERS + "metrics/fairness.hpp", "long  double sum;"),
    ("reduce", "simulator/src/engine/loop.cpp", "std::reduce(a, b);"),
    ("flags", "cmake/VgaOptions.cmake", "add_compile_options(-march=native)"),
    ("flags", "CMakePresets.json", '"CMAKE_CXX_FLAGS": "-ffast-math"'),
    ("both-sides", "tests/property/fit_test.cpp", "RC_ASSERT(!found || found->at(0) == 1);"),
    ("both-sides", "tests/property/fit_test.cpp", "RC_ASSERT((a == b) && c.f(g(1)));"),
    ("unfinished", "docs/formats.md", "TODO: write this"),
    ("unfinished", "traces/src/openb.cpp", "// FIXME later"),
    ("unfinished", "scripts/run.sh", "# XXX"),
    ("outside", "tests/golden/CMakeLists.txt", "set(dir ${CMAKE_SOURCE_DIR}/../shared/golden)"),
    ("outside", "README.md", "see /work/shared/DESIGN.md"),
    ("tab", "simulator/src/engine/loop.cpp", "\tint x;"),
    ("length", "simulator/src/engine/loop.cpp", "int x;\n" * (bans.LENGTH_LIMIT + 1)),
    ("unordered", "simulator/src/engine/loop.cpp",
     "std::unordered_map<int, std::pair<int, int>> jobs;\nfor (const auto& [id, job] : jobs) use(job);"),
    ("unordered", "simulator/src/engine/loop.cpp", "std::unordered_set<int> seen_;\nstd::sort(seen_.begin(), seen_.end());"),
]

# (path, text) that look like a defect and are none.
CLEAN = [
    (HEADERS + "core/expected.hpp", "#include <tl/expected.hpp>"),
    (HEADERS + "core/rng.hpp", "// never <random>, std::hash or rand()\n/* long double\n system_clock */"),
    (HEADERS + "policy/fgd.hpp", '#include "vgpualloc/metrics/fragmentation.hpp"\n#include "vgpualloc/core/units.hpp"'),
    (HEADERS + "alloc/allocator.hpp", '#include "vgpualloc/policy/all.hpp"\n#include <vector>'),
    (COMPAT + "compat/all.hpp", '#include "vgpualloc/compat/volcano/fit.hpp"\n#include "vgpualloc/compat/fgd.hpp"'),
    (COMPAT + "compat/volcano/fit.hpp", '#include "vgpualloc/dialect/volcano.hpp"'),
    (UMBRELLA + "vgpualloc.hpp", '#include "vgpualloc/verify/state.hpp"\n#include "vgpualloc/plan/flow.hpp"'),
    ("libvgpualloc/plan/src/plan/dot.cpp", "#include <Eigen/Core>"),
    ("libvgpualloc/plan/src/plan/flow.cpp", '#include "vgpualloc/plan/flow.hpp"\n#include <boost/graph/adjacency_list.hpp>'),
    ("libvgpualloc/core/src/catalog/mig.cpp", '#include "vgpualloc/catalog/mig.hpp"\n#include "vgpualloc_core_embedded.hpp"'),
    ("simulator/cli/main.cpp", '#include <CLI/CLI.hpp>\n#include "vgpusim/outputs/report.hpp"'),
    ("simulator/src/engine/loop.cpp", "#include <unistd.h>\nauto t = std::chrono::steady_clock::now();\nevent.time(0);"),
    ("simulator/src/engine/loop.cpp", "std::int64_t million = 1'000'000; const char* s = \"std::hash\"; auto c = '\"';\n"
                               "int operand(int); int x = operand(1);"),
    ("simulator/src/engine/loop.cpp", "std::unordered_map<int, int> jobs;\nif (jobs.find(1) == jobs.end()) return;\n"
                               "for (int id : ids) use(jobs.at(id));"),
    ("scripts/test.sh", "mktemp -d /tmp/a.XXXXXX\nls ../shared"),
    ("docs/determinism.md", "never -ffast-math"),
]


class Tidy(unittest.TestCase):
    def test_every_planted_defect_is_flagged_at_its_line(self):
        for rule, path, text in PLANTED:
            with self.subTest(rule=rule, path=path, text=text[-80:]):
                findings = tidy.check({path: text})
                last = max(1, text.rstrip("\n").count("\n") + 1)
                flagged = [(finding.rule, finding.path) for finding in findings]
                self.assertIn((rule, path), flagged)
                self.assertTrue(any(last <= finding.line <= last + 1 for finding in findings), findings)

    def test_clean_look_alikes_are_left_alone(self):
        for path, text in CLEAN:
            with self.subTest(path=path, text=text):
                self.assertEqual([], tidy.check({path: text}))

    def test_every_ban_has_a_planted_defect(self):
        planted = {rule for rule, _, _ in PLANTED}
        self.assertEqual(set(), {ban.name for ban in bans.BANS} - planted)

    def test_the_table_has_no_cycle_and_names_only_its_own_parts(self):
        for part, lower in arrows.SEES.items():
            self.assertLessEqual(set(lower), set(arrows.SEES))
            self.assertNotIn(part, arrows.closure(part))

    def test_a_declaration_is_an_arrow_too(self):
        states, device = HEADERS + "catalog/mig_states.hpp", HEADERS + "model/device.hpp"
        defined = "namespace vgpualloc {\nclass mig_states final : public base {};\n}"
        for text, flagged in (("namespace vgpualloc {\nclass mig_states; // later\n}", True),
                              ("namespace vgpualloc {\nstd::unique_ptr<class mig_states> all;\n}", True),
                              ("namespace vgpualloc::other { class mig_states; }", False),
                              ("namespace vgpualloc { struct device { struct mig_states; }; }", False),
                              ("namespace vgpualloc {\n// class mig_states;\n}", False)):
            with self.subTest(text=text):
                findings = tidy.check({states: defined, device: text})
                line = 1 + text.count("\n", 0, text.find("mig_states"))
                self.assertEqual([(device, line, "arrow")] if flagged else [], [(f.path, f.line, f.rule) for f in findings])
        self.assertEqual([], tidy.check({device: defined, states: "namespace vgpualloc { class mig_states; }"}))

    def test_a_private_header_belongs_to_its_library(self):
        header = {"formats/src/posix_io.hpp": "int x;"}
        for path, flagged in (("traces/fetch/src/fetch.cpp", True), ("formats/src/files.cpp", False)):
            for target in ("posix_io.hpp", "../../../formats/src/posix_io.hpp"):
                if not flagged and target.startswith(".."):
                    continue
                findings = tidy.check(header | {path: f'#include "{target}"'})
                self.assertEqual([path] if flagged else [], [finding.path for finding in findings])

    def test_a_link_line_that_its_row_allows_is_left_alone(self):
        line = "target_link_libraries(vgputraces PUBLIC vgpualloc::kubernetes vgpuformats PRIVATE fmt::fmt) # not vgpusim_core"
        self.assertEqual([], tidy.check({"traces/CMakeLists.txt": line}))

    def test_a_private_header_is_followed_to_its_part(self):
        texts = {"simulator/cli/commands.hpp": "int x;", "simulator/cli/main.cpp": '#include "commands.hpp"',
                 "traces/src/posix_io.hpp": "int x;", "traces/src/files.cpp": '#include "posix_io.hpp"'}
        self.assertEqual([], tidy.check(texts))

    def test_a_header_without_a_test_is_flagged_and_so_is_an_entry_that_is_not_needed(self):
        header, own_test, other = HEADERS + "mode/mig.hpp", "tests/unit/mode/mig_test.cpp", "tests/unit/mode/all_test.cpp"
        for texts, holds, flagged in (
                ({header: ""}, {}, header), ({header: "", own_test: ""}, {}, None),
                ({header: "", other: ""}, {other: ["mode/mig"]}, None),
                ({header: "", own_test: "", other: ""}, {other: ["mode/mig"]}, header),
                ({header: ""}, {other: ["mode/mig"]}, other),
                ({header: "", own_test: "", other: ""}, {other: ["mode/gone"]}, "tests/tidy/mirror.py"),
                ({"simulator/include/vgpusim/study/run.hpp": "", other: ""}, {other: ["vgpusim/study/run"]}, None)):
            with self.subTest(texts=texts, holds=holds):
                paths = [finding.path for finding in mirror.check(texts, holds)]
                self.assertEqual([flagged] if flagged else [], paths)

    def test_an_installed_header_is_listed_under_its_layer(self):
        header, row = HEADERS + "mode/mig.hpp", "| `vgpualloc/mode/mig.hpp` | read | MIG |"
        for page, flagged in ((f"## `vgpualloc::core`\n{row}", None), ("## `vgpualloc::core`", header),
                              (f"## `vgpualloc::plan`\n{row}", header), (f"## `vgpualloc::core`\n{row}\n{row}", None),
                              (f"## `vgpualloc::core`\n{row.replace('read', 'used')}", headers.PAGE)):
            with self.subTest(page=page):
                paths = {finding.path for finding in headers.check({header: "", headers.PAGE: page})}
                self.assertEqual(flagged is not None, bool(paths))
                self.assertLessEqual({flagged} - {None}, paths)
        gone = headers.check({headers.PAGE: f"## `vgpualloc::core`\n{row}"})
        self.assertEqual([(headers.PAGE, 2)], [(finding.path, finding.line) for finding in gone])

    def test_blanking_keeps_every_line_where_it_was(self):
        text = 'a /* x\ny */ b "s//t" // c\nR"(raw\n// )" d\n'
        blanked = source.without_comments(text)
        self.assertEqual(text.count("\n"), blanked.count("\n"))
        self.assertEqual(["a", "b", "d"], blanked.split())


if __name__ == "__main__":
    sys.exit(unittest.main())
