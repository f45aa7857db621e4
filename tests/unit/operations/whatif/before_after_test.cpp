// What an answer says of nodes and pods, and what the cluster has before and after.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../why/random_clusters.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace whatif_before_after_test {

using namespace cluster_test;
namespace show = vgpuops::show;
namespace whatif = vgpuops::whatif;
using testing::ElementsAre;
using testing::HasSubstr;
using whatif::pod_fate;

std::vector<kube::manifest> in_tree(const std::string& name) {
    const std::string path = std::string{VGA_SOURCE_DIR} + "/scenarios/clusters/" + name + ".json";
    const auto text = vgpuformats::read_file(path);
    EXPECT_TRUE(text.has_value()) << path;
    auto read = kube::read_manifests(text ? *text : std::string{}, name);
    EXPECT_TRUE(read.has_value());
    return read ? *std::move(read) : std::vector<kube::manifest>{};
}

whatif::answer answered(const std::vector<kube::manifest>& cluster, whatif::changes wanted) {
    auto result = whatif::answer_of(cluster, {}, {.wanted = std::move(wanted)});
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result ? *std::move(result) : whatif::answer{};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream from{text};
    std::vector<std::string> lines;
    for (std::string line; std::getline(from, line);) lines.push_back(line);
    return lines;
}

/// What a text says in its count line, by verb in the third person: "starts", "waits".
std::map<std::string, std::int64_t> counts_in(const std::string& text) {
    const std::string line = lines_of(text).front();
    std::map<std::string, std::int64_t> counts;
    const std::regex part{"([0-9]+)(?: pods?| still)? (start|move|restart|stop|wait)s?"};
    for (std::sregex_iterator match{line.begin(), line.end(), part}, end; match != end; ++match) {
        counts[(*match)[2].str() + "s"] = std::stoll((*match)[1]);
    }
    return counts;
}

/// How many pods the list marks, of a text in which every pod has a line; pods that wait stand side by side.
std::map<std::string, std::int64_t> marks_in(const std::string& text) {
    std::map<std::string, std::int64_t> marks;
    for (const std::string& line : lines_of(text)) {
        if (line.empty()) break; // the table follows
        const bool is_of_pod = line.size() > 4 && line.starts_with("  ") && line[3] == ' ' &&
                               line.substr(4, line.find(' ', 4) - 4).find('/') != std::string::npos;
        if (!is_of_pod) continue;
        const std::string mark = line.substr(2, 1);
        marks[mark] += 1;
        for (std::size_t at = line.find(";  "); mark == "." && at != std::string::npos; at = line.find(";  ", at + 1)) {
            ++marks[mark];
        }
    }
    return marks;
}

/// "36.0" is 360, "+2" is 20.
std::int64_t tenths_of(std::string cell) {
    if (cell.find('.') == std::string::npos) cell += ".0";
    cell.erase(cell.find('.'), 1);
    return std::stoll(cell);
}

struct printed_row {
    std::int64_t before = 0;
    std::int64_t after = 0;
    std::int64_t change = 0;
};

/// The rows of the table by name.
std::map<std::string, printed_row> rows_in(const std::string& text) {
    std::map<std::string, printed_row> rows;
    const std::regex row{"([A-Za-z][^ ]*(?: [^ ]+)*?) +([0-9.]+) +([0-9.]+) +([-+]?[0-9.]+)(?: |$)"};
    const auto lines = lines_of(text);
    auto line = std::ranges::find_if(lines, [](const std::string& entry) {
        return entry.starts_with("     ") && entry.find(" BEFORE ") != std::string::npos;
    });
    for (; line != lines.end() && !line->empty(); ++line) {
        if (line->starts_with("not looked") || line->starts_with("warning") || line->starts_with("without")) break;
        for (std::sregex_iterator match{line->begin(), line->end(), row}, end; match != end; ++match) {
            rows[(*match)[1]] = {
                .before = tenths_of((*match)[2]), .after = tenths_of((*match)[3]), .change = tenths_of((*match)[4])};
        }
    }
    return rows;
}

/// What holds of every answer.
void expect_sums(const std::vector<kube::manifest>& cluster, const whatif::answer& answer, const std::string& context) {
    SCOPED_TRACE(context);
    const std::string text = whatif::answer_text(answer, true);
    SCOPED_TRACE(text);
    const auto seen = show::overview_of(cluster, {});
    ASSERT_TRUE(seen.has_value());
    const show::overview& before = answer.view_before.seen;
    EXPECT_EQ(before.parts, seen->parts);
    EXPECT_EQ(before.gpus, seen->gpus);
    EXPECT_EQ(before.pods_run, seen->pods_run);
    if (!seen->shapes.empty()) {
        EXPECT_EQ(answer.before.idle, seen->mean);
    }

    const std::string empty_line = "\n\n"; // after what is said of pods that are placed anew
    const std::string rest = answer.is_anew ? text.substr(text.find(empty_line) + empty_line.size()) : text;
    auto counts = counts_in(rest);
    auto marks = marks_in(rest);
    EXPECT_FALSE(marks.contains(" ")) << "what stays where it is is not listed";
    EXPECT_EQ(counts["starts"], marks["+"]);
    EXPECT_EQ(counts["moves"] + counts["restarts"], marks["~"]);
    EXPECT_EQ(counts["stops"], marks["-"]);
    EXPECT_EQ(counts["waits"], marks["."]);
    EXPECT_EQ(counts["starts"] - counts["stops"], answer.view_after.seen.pods_run - before.pods_run);
    const whatif::fate_counts fates = whatif::count_fates(answer);
    std::int64_t with_verdict = 0;
    for (const std::int64_t pods : fates.waiting) with_verdict += pods;
    EXPECT_EQ(with_verdict, counts["waits"]);
    EXPECT_EQ(fates.waiting[static_cast<std::size_t>(show::verdict::fits_now)], 0) << "it would have been placed";

    auto rows = rows_in(rest);
    ASSERT_TRUE(rows.contains("GPUs") && rows.contains("out of service"));
    for (const auto& [name, row] : rows) EXPECT_EQ(row.change, row.after - row.before) << name;
    for (std::int64_t printed_row::* const column : {&printed_row::before, &printed_row::after, &printed_row::change}) {
        EXPECT_EQ(rows["used"].*column + rows["free"].*column + rows["out of service"].*column, rows["GPUs"].*column);
    }
    const std::string shown = show::overview_text(*seen);
    EXPECT_THAT(shown, HasSubstr(std::to_string(rows["used"].before / 10) + "." +
                                 std::to_string(rows["used"].before % 10) + " used"));
    EXPECT_EQ(rows["pods run"].before, 10 * seen->pods_run);
    EXPECT_EQ(rows["pods run"].after, 10 * answer.view_after.seen.pods_run);
}

/// Something that may be asked of n0, n1, …, of which `nodes` are there.
whatif::changes random_changes(vgpualloc::rng& random, std::uint64_t nodes) {
    whatif::changes wanted;
    const std::string node = "n" + std::to_string(random.below(nodes));
    const std::uint64_t sort = random.below(7);
    if (sort == 0) wanted.drained = {node};
    if (sort == 1) wanted.failed = {{.node = node}};
    if (sort == 2) wanted.failed = {{.node = node, .device = "0"}};
    if (sort == 3) wanted.anew = true;
    if (sort == 4) wanted.modes = {{.node = node, .mode = "hami_core"}};
    if (random.below(3) == 0) wanted.added_nodes = {{.kind = "n0", .nodes = 1 + static_cast<int>(random.below(2))}};
    if (random.below(3) == 0) {
        wanted.added_pods = objects(pod_object("x", static_cast<int>(1000 * (1 + random.below(45)))));
        wanted.added_pods.front().replicas = 1;
    }
    return wanted;
}

TEST(whatif_before_after, counts_marks_and_the_table_agree_on_random_clusters) {
    vgpualloc::rng random{51};
    std::map<pod_fate, std::int64_t> drawn;
    constexpr int clusters = 200;
    constexpr bool draws_all = clusters_to_draw(clusters) == clusters;
    for (int i = 0; i < clusters_to_draw(clusters); ++i) {
        const std::string text = random_cluster_with_rules(random, random.below(5));
        std::uint64_t nodes = 0;
        while (text.find("name: n" + std::to_string(nodes)) != std::string::npos) ++nodes;
        const auto cluster = objects(text);
        const auto answer = answered(cluster, random_changes(random, nodes));
        expect_sums(cluster, answer, text);
        if (testing::Test::HasFailure()) return;
        const whatif::fate_counts fates = whatif::count_fates(answer);
        for (const pod_fate fate : {pod_fate::starts, pod_fate::moves, pod_fate::restarts, pod_fate::stops,
                                    pod_fate::waits, pod_fate::stays}) {
            drawn[fate] += fates.of(fate);
        }
    }
    for (const auto& [fate, pods] : drawn) {
        EXPECT_TRUE(pods > 0 || !draws_all) << whatif::to_string(fate) << " was never drawn";
    }
}

TEST(whatif_before_after, they_agree_on_atlas_and_harbor) {
    const auto atlas = in_tree("atlas");
    const auto harbor = in_tree("harbor");
    expect_sums(atlas, answered(atlas, {}), "atlas");
    expect_sums(atlas, answered(atlas, {.anew = true}), "atlas anew");
    expect_sums(atlas, answered(atlas, {.drained = {"a100-1"}, .failed = {{.node = "t4-1"}}}), "atlas with less");
    expect_sums(atlas,
                answered(atlas, {.added_nodes = {{.kind = "a100-1", .nodes = 2}},
                                 .modes = {{.node = "mig-*", .mode = "mig", .layout = "all-3g.40gb"}}}),
                "atlas cut");
    expect_sums(harbor, answered(harbor, {}), "harbor");
    expect_sums(harbor, answered(harbor, {.drained = {"h3"}}), "harbor with less");
    expect_sums(harbor, answered(harbor, {.added_nodes = {{.kind = "h1", .nodes = 1}}}), "harbor with more");
    expect_sums(harbor, answered(harbor, {.failed = {{.node = "h*", .device = "0"}}}), "harbor without some GPUs");
}

TEST(whatif_before_after, the_answer_for_atlas_is_this_text) {
    const auto answer =
        answered(in_tree("atlas"),
                 {.uncordoned = {"a100-3"}, .modes = {{.node = "mig-2", .mode = "mig", .layout = "all-balanced"}}});
    EXPECT_EQ(whatif::answer_text(answer),
              "2 pods start, 7 restart, 0 stop; 2 still wait (1 gate, 1 never).\n"
              "  ~ a100-3            takes pods again\n"
              "  ~ mig-2             28 x 1g.10gb -> 4 x 3g.40gb, 4 x 2g.20gb, 8 x 1g.10gb; at least 4.5 s a GPU\n"
              "  + train/llm-3       a100-3  4 gpu\n"
              "  + serve/ranker-4    mig-2   mig-3g.40gb\n"
              "  ~ serve/tag-[4-7]   mig-2 -> mig-1\n"
              "  ~ serve/tag-[8-10]  mig-2 -> mig-2, after the cut\n"
              "  . train/eval-7      gate;  research/embed-0: never\n"
              "\n"
              "                     BEFORE  AFTER  CHANGE                         BEFORE  AFTER  CHANGE\n"
              "GPUs                   36.0   36.0       0   A100-80GB whole free       5      5       0\n"
              "  used                 20.5   24.9    +4.4   mig-3g.40gb free           0      3      +3\n"
              "  free                 11.5   11.1    -0.4   mig-2g.20gb free           2      6      +4\n"
              "  out of service        4.0    0.0    -4.0   mig-1g.10gb free          25      5     -20\n"
              "pods run                 28     30      +2   kWh a day, at most     241.1  273.5   +32.4\n"
              "not looked at: which GPUs of mig-2 are busy (NVIDIA's plugin does not tell)\n");
}

TEST(whatif_before_after, what_is_added_changes_nothing_before) {
    const auto cluster = in_tree("harbor");
    const std::string before = show::overview_json(answered(cluster, {}).view_before.seen);
    const auto more = answered(cluster, {.added_pods = objects(pod_object("x", 1000))});
    EXPECT_EQ(show::overview_json(more.view_before.seen), before);
    EXPECT_NE(show::overview_json(more.view_after.seen), before);
}

TEST(whatif_before_after, the_words_of_waiting_pods_are_those_of_show_where_nothing_starts) {
    vgpualloc::rng random{52};
    int compared = 0;
    for (int i = 0; i < clusters_to_draw(100); ++i) {
        const auto cluster = objects(random_cluster_with_rules(random, 3));
        const whatif::fate_counts fates = whatif::count_fates(answered(cluster, {}));
        if (fates.of(pod_fate::starts) > 0) continue;
        const auto seen = show::overview_of(cluster, {});
        std::array<std::int64_t, show::verdict_count> shown{};
        for (const show::waiting_pod& pod : seen->waiting) ++shown[static_cast<std::size_t>(pod.why)];
        ASSERT_EQ(fates.waiting, shown);
        ++compared;
    }
    EXPECT_GT(compared, 3);
}

TEST(whatif_before_after, pods_of_a_gang_that_is_short_wait_for_their_gang) {
    const pod_extras of_a_gang{.annotations = "scheduling.k8s.io/group-name: g,"};
    const std::string text =
        card_node("a", 1) + pod_object("p0", 30000, of_a_gang) + pod_object("p1", 30000, of_a_gang);
    const auto answer = answered(objects(text), {});
    EXPECT_THAT(whatif::answer_text(answer), HasSubstr("0 pods start, 0 stop; 2 still wait (2 gang).\n"
                                                       "  . ns/p[0-1]  gang\n"));
    EXPECT_THAT(whatif::answer_text(answer, true), HasSubstr("its gang ns/g starts together or not at all"));
}

TEST(whatif_before_after, pods_without_devices_are_not_counted) {
    const std::string plain = "---\nkind: Pod\nmetadata: {name: cpu, namespace: ns}\nspec: {containers: [{name: c, "
                              "resources: {requests: {cpu: '1'}}}]}\n";
    const auto cluster = objects(card_node("a", 1) + plain);
    const auto answer = answered(cluster, {});
    EXPECT_THAT(whatif::answer_text(answer), testing::StartsWith("0 pods start, 0 stop; none waits.\n"
                                                                 "  beside these, pods without GPUs: 1 starts\n"));
    expect_sums(cluster, answer, "a pod without devices");
}

TEST(whatif_before_after, nodes_have_marks) {
    const std::string text = card_node("a", 2) + card_node("b", 2, "mig") + card_node("c", 1) + card_node("d", 1) +
                             "spec: {unschedulable: true}\n" + card_node("e", 1);
    const auto answer = answered(objects(text), {.added_nodes = {{.kind = "c", .nodes = 2}},
                                                 .uncordoned = {"d"},
                                                 .drained = {"c"},
                                                 .failed = {{.node = "e"}, {.node = "a", .device = "1"}},
                                                 .modes = {{.node = "b", .mode = "hami_core"}}});
    EXPECT_THAT(lines_of(whatif::answer_text(answer)),
                testing::IsSupersetOf({"0 pods start, 0 stop; none waits.", "  + c-added-[1-2]  like c",
                                       "  ~ a              GPU 1 fails", "  ~ b              mode mig -> hami_core",
                                       "  ~ c              takes no more pods", "  ~ d              takes pods again",
                                       "  - e              fails"}));
}

TEST(whatif_before_after, pods_that_end_with_their_node_stop) {
    const std::string of_a_daemon = "ownerReferences: [{kind: DaemonSet, name: s, controller: true}],";
    const auto cluster = objects(card_node("a", 1) + card_node("b", 1) + running_pod("d", "a", 0, 1000, of_a_daemon));
    const auto answer = answered(cluster, {.failed = {{.node = "a"}}});
    ASSERT_EQ(answer.ended.size(), 1U);
    EXPECT_EQ(answer.ended[0].name, "ns/d");
    EXPECT_THAT(whatif::answer_text(answer), HasSubstr("  - ns/d  a  ends with its node\n"));
    expect_sums(cluster, answer, "a node with a pod of its own");
}

TEST(whatif_before_after, of_many_alike_ten_lines_are_listed) {
    std::string text;
    std::string pods;
    for (int i = 0; i < 12; ++i) text += card_node("n" + std::string(1, static_cast<char>('a' + i)), 1);
    for (int i = 0; i < 12; ++i) pods += pod_object("p" + std::string(1, static_cast<char>('a' + i)), 40960);
    const auto answer = answered(objects(text + pods), {});
    const std::string short_text = whatif::answer_text(answer);
    EXPECT_THAT(short_text, HasSubstr("  + and 2 pods more (--all)\n"));
    EXPECT_EQ(marks_in(short_text)["+"], 10);
    EXPECT_EQ(marks_in(whatif::answer_text(answer, true))["+"], 12);
    const auto full = answered(objects(card_node("a", 1) + running_pod("r", "a", 0, 40000) + pods), {});
    EXPECT_THAT(whatif::answer_text(full), HasSubstr("\n  . ns/pa and 11 more  all used\n"));
    EXPECT_EQ(marks_in(whatif::answer_text(full, true))["."], 12);
}

TEST(whatif_before_after, replicas_are_counted_by_node) {
    auto added = objects(pod_object("w", 40960));
    added.front().replicas = 3;
    const auto answer = answered(objects(card_node("a", 2)), {.added_pods = added});
    EXPECT_THAT(lines_of(whatif::answer_text(answer)),
                testing::IsSupersetOf({"2 pods start, 0 stop; 1 still waits (1 all used).",
                                       "  + 2 of ns/w  a  40960 MiB", "  . 1 of ns/w  all used"}));
}

TEST(whatif_before_after, the_document_has_every_number_of_the_table) {
    const auto answer = answered(in_tree("atlas"), {.uncordoned = {"a100-3"}});
    const auto printed = vgpuformats::parse_json(whatif::answer_json(answer), "json");
    ASSERT_TRUE(printed.has_value());
    const auto numbers = [&](const char* row) {
        const auto* const member = printed->find("comparison")->find(row);
        return std::vector{member->find("before")->integer(), member->find("after")->integer(),
                           member->find("change")->integer()};
    };
    EXPECT_THAT(numbers("out"), ElementsAre(4000, 0, -4000));
    EXPECT_THAT(numbers("pods_run"), ElementsAre(28, 29, 1));
    EXPECT_THAT(numbers("gpus"), ElementsAre(36000, 36000, 0));
}

} // namespace whatif_before_after_test
