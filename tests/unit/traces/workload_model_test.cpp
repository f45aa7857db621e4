#include "vgputraces/workload_model.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgputraces/arrivals.hpp"

namespace {

using testing::HasSubstr;
using vgputraces::generate_workload;
using vgputraces::generated_workload;

const std::string mig_node =
    R"({"count": 2, "kind": "A100-40GB", "mode": "mig", "devices": 8, "cpu_milli": 96000, "memory_mib": 4096})";
const std::string batch = R"({"process": "batch"})";

/// A model of these kinds and classes, each a list of objects.
std::string model_of(const std::string& kinds, const std::string& classes, int count = 10,
                     const std::string& arrivals = batch) {
    return R"({"format": "kubernetes", "seed": 5, "nodes": {"kinds": [)" + kinds + R"(]}, "pods": {"count": )" +
           std::to_string(count) + R"(, "classes": [)" + classes + R"(]}, "arrivals": )" + arrivals + "}";
}

generated_workload made_from(const std::string& model, const vgputraces::generate_options& options = {}) {
    auto workload = generate_workload(model, "m.json", options);
    EXPECT_TRUE(workload.has_value()) << workload.error().message();
    return workload ? *std::move(workload) : generated_workload{};
}

vgputraces::generate_options options_with(std::uint64_t seed, std::optional<std::int64_t> nodes = std::nullopt) {
    vgputraces::generate_options options;
    options.seed = seed;
    options.nodes = nodes;
    return options;
}

std::string refusal_of_model(const std::string& model, const vgputraces::generate_options& options = {}) {
    const auto workload = generate_workload(model, "m.json", options);
    return workload ? "none" : workload.error().message();
}

/// Node kinds of every mode, and a class for each of them.
const std::vector<std::pair<std::string, std::string>> modes{
    {R"("kind": "V100", "device_memory_mib": 32768, "mode": "hami_core")", R"("memory_mib": 4096, "cores": 20)"},
    {R"("kind": "H100-80GB", "mode": "hami_core", "dialect": "hami")", R"("memory_percent": 50)"},
    {R"("kind": "H100-80GB", "mode": "mig")", R"("profile": "1g.10gb")"},
    {R"("kind": "A30-24GB", "mode": "mps")", R"("memory_mib": 100)"},
    {R"("kind": "Ascend910B3", "mode": "ascend_vir")", R"("template": "vir10_3c_32g")"},
    {R"("kind": "Ascend910C", "mode": "ascend_vir")", R"("count": 2)"},
    {R"("kind": "Ascend310P", "mode": "mindcluster_310p", "ai_cores": 10)", R"("template": "vir04_4c_dvpp")"},
    {R"("kind": "V100", "device_memory_mib": 16160, "mode": "cce")", R"("memory_mib": 5120, "cores": 25)"},
    {R"("kind": "B200-180GB", "mode": "exclusive", "device_memory_mib": 183359)", R"("count": 4)"}};

TEST(workload_model, nodes_of_every_mode_are_read_back_without_a_warning) {
    for (const auto& [kind, request] : modes) {
        const auto workload =
            made_from(model_of("{\"count\": 3, \"devices\": 8, \"cpu_milli\": 1000, \"memory_mib\": 1, " + kind + "}",
                               "{\"name\": \"c\", \"weight\": 1, \"request\": {" + request + "}}"));
        const auto objects = vgpualloc::kube::read_manifests(workload.nodes, "nodes.json");
        ASSERT_TRUE(objects) << kind;
        const auto state = vgpualloc::kube::make_snapshot(*objects, vgpualloc::dialect_set{});
        ASSERT_TRUE(state) << kind;
        EXPECT_TRUE(state->warnings.empty()) << kind << state->warnings.front().message();
        ASSERT_EQ(state->nodes().nodes.size(), 3U);
        EXPECT_EQ(state->nodes().nodes[2].name, "gen-node-0002");
        EXPECT_EQ(state->nodes().nodes[2].devices.size(), 8U) << kind;
        EXPECT_EQ(workload.device_count, 24);
        const auto classes = vgpualloc::kube::read_manifests(workload.classes, "classes.yaml");
        ASSERT_TRUE(classes) << classes.error().message();
        const auto pod = vgpualloc::kube::read_snapshot_pod(classes->front(), state->dialects);
        ASSERT_TRUE(pod) << pod.error().message();
        EXPECT_EQ(pod->request.containers.size(), 1U) << kind;
    }
}

TEST(workload_model, the_model_that_is_written_makes_the_same_again) {
    const std::string model = model_of(
        R"({"weight": 2, "cpu_milli": 4000, "memory_mib": 1}, {"weight": 1, "cpu_milli": 8000, "memory_mib": 1})",
        R"({"name": "c", "weight": 1, "mean_duration_s": 5, "estimate_factor": [1, 2]})", 50,
        R"({"process": "poisson", "mean_interarrival_s": 2})");
    EXPECT_THAT(refusal_of_model(model), HasSubstr("nodes.total"));
    const auto first = made_from(model, options_with(9, 7));
    EXPECT_EQ(first.node_count, 7);
    const auto again = made_from(first.model);
    EXPECT_EQ(again.nodes, first.nodes);
    EXPECT_EQ(again.arrivals, first.arrivals);
    EXPECT_EQ(again.model, first.model);
    EXPECT_NE(made_from(first.model, options_with(10)).arrivals, first.arrivals);
    EXPECT_TRUE(vgputraces::is_workload_model(first.model));
    EXPECT_FALSE(vgputraces::is_workload_model("{\"nodes\": {}}"));
}

TEST(workload_model, an_estimate_is_one_that_a_table_may_say) {
    const auto most = made_from(model_of(
        mig_node, R"({"name": "m", "weight": 1, "mean_duration_s": 1000000000, "estimate_factor": 1000})", 99));
    const auto table = vgputraces::read_arrivals(most.arrivals, "arrivals.csv");
    ASSERT_TRUE(table) << table.error().message();
    vgpualloc::ticks longest;
    for (const auto& row : table->rows) longest = std::max(longest, row.estimate.value());
    EXPECT_EQ(longest, vgpualloc::ticks{1'000'000'000'000'000'000});
}

TEST(workload_model, durations_are_constant_or_exponential_or_by_quantiles) {
    const auto workload = made_from(model_of(mig_node,
                                             R"({"name": "d", "weight": 1, "duration_s": 2.5, "estimate_factor": 2},
                                                {"name": "m", "weight": 1, "mean_duration_s": 100},
                                                {"name": "q", "weight": 1, "duration_quantiles_s": [[0, 1], [1, 3]]},
                                                {"name": "stays", "weight": 1})",
                                             40'000));
    const auto table = vgputraces::read_arrivals(workload.arrivals, "arrivals.csv");
    ASSERT_TRUE(table) << table.error().message();
    double sum = 0.0;
    double squares = 0.0;
    double exponential = 0.0;
    for (const auto& row : table->rows) {
        const std::string& name = table->classes[row.pod_class];
        if (name == "stays") {
            EXPECT_FALSE(row.duration);
            continue;
        }
        const double seconds = static_cast<double>(row.duration.value().count()) / 1e6;
        if (name == "d") {
            EXPECT_EQ(seconds, 2.5);
            EXPECT_EQ(row.estimate, vgpualloc::ticks{5'000'000});
        } else if (name == "q") {
            EXPECT_GE(seconds, 1.0);
            EXPECT_LE(seconds, 3.0);
        } else {
            exponential += 1.0;
            sum += seconds;
            squares += seconds * seconds;
        }
    }
    const double mean = sum / exponential;
    EXPECT_NEAR(mean, 100.0, 3.0); // about 10,000 draws: a deviation of 1
    EXPECT_NEAR(std::sqrt(squares / exponential - mean * mean), 100.0, 6.0);
    EXPECT_EQ(workload.rows_per_class.size(), 4U);
}

TEST(workload_model, a_manifest_is_a_class_by_the_name_that_it_has) {
    const auto workload = made_from(model_of(mig_node, R"({"weight": 1, "queue": "team", "priority": -4, "manifest":
            {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"}, "spec": {"replicas": 2,
             "template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}}})",
                                             2));
    EXPECT_EQ(workload.arrivals, "name,class,arrival,queue,priority\ngen-pod-0000,web,0,team,-4\n"
                                 "gen-pod-0001,web,0,team,-4\n");
    EXPECT_THAT(workload.classes, HasSubstr("kind: \"Deployment\""));
}

TEST(workload_model, an_error_names_line_and_path) {
    vgputraces::generate_options with_load;
    with_load.load = 1.0;
    vgputraces::generate_options without_pods;
    without_pods.pods = 0;
    const auto of_kind = [](const std::string& kind) {
        return refusal_of_model(model_of("{\"count\": 1, \"cpu_milli\": 1, \"memory_mib\": 1, " + kind + "}",
                                         R"({"name": "c", "weight": 1})"));
    };
    EXPECT_THAT(of_kind(R"("devices": 1, "kind": "A100-40GB", "mode": "vgpu")"),
                HasSubstr("m.json:1: nodes.kinds[0].mode: got 'vgpu', expected one of hami_core, mig"));
    EXPECT_THAT(of_kind(R"("devices": 1, "kind": "T4", "mode": "mig")"), HasSubstr("nodes.kinds[0].kind: got 'T4'"));
    EXPECT_THAT(of_kind(R"("devices": 1, "kind": "A100-40GB", "mode": "ascend_vir")"),
                HasSubstr("a chip of the catalog"));
    EXPECT_THAT(of_kind(R"("devices": 1025, "kind": "A100-40GB", "mode": "mig")"), HasSubstr("devices: got '1025'"));
    EXPECT_THAT(of_kind(R"("devices": 3, "kind": "Ascend910C", "mode": "ascend_vir")"), HasSubstr("an even number"));
    EXPECT_THAT(of_kind(R"("mode": "mig")"),
                HasSubstr("nodes.kinds[0].mode: got 'mig', expected a number of \"devices\" beside it"));
    const auto of_class = [](const std::string& entry) {
        return refusal_of_model(model_of(mig_node, "{\"weight\": 1, " + entry + "}"));
    };
    EXPECT_THAT(of_class(R"("name": "c", "request": {"profile": "9g.1gb"})"),
                HasSubstr("pods.classes[0].request.profile: got '9g.1gb', expected one of 1g.5gb"));
    EXPECT_THAT(of_class(R"("name": "c", "request": {"profile": "4g.20gb"})"), HasSubstr("they get 3g.20gb"));
    EXPECT_THAT(of_class(R"("name": "c", "request": {"template": "vir02"})"), HasSubstr("keys that mode mig has"));
    EXPECT_THAT(of_class(R"("name": "c", "request": {"mode": "cce", "memory_mib": 128})"),
                HasSubstr("expected one of mig"));
    EXPECT_THAT(of_class(R"("name": "C")"), HasSubstr("name: got 'C'"));
    EXPECT_THAT(of_class(R"("name": "c", "duration_s": 1, "mean_duration_s": 1)"), HasSubstr("one way of drawing"));
    EXPECT_THAT(of_class(R"("name": "c", "manifest": {"kind": "Pod"})"), HasSubstr("either a manifest"));
    EXPECT_THAT(of_class(R"("manifest": {"kind": "Pod", "metadata": {"name": "p"}})"), HasSubstr("spec.containers"));
    EXPECT_THAT(of_class(R"("manifest": {"kind": "Service", "metadata": {"name": "p"}})"),
                HasSubstr("a Pod, or an object"));
    EXPECT_THAT(refusal_of_model(model_of(mig_node, R"({"name": "c", "weight": 1}, {"name": "c", "weight": 1})")),
                HasSubstr("pods.classes[1]"));
    EXPECT_THAT(refusal_of_model(model_of(mig_node, R"({"name": "c", "weight": 0})")),
                HasSubstr("at least one entry above 0"));
    EXPECT_THAT(refusal_of_model(model_of(mig_node, R"({"name": "c", "weight": 1})"), with_load), HasSubstr("--load"));
    EXPECT_THAT(refusal_of_model(model_of(mig_node, R"({"name": "c", "weight": 1})"), without_pods),
                HasSubstr("--pods"));
    EXPECT_THAT(refusal_of_model("{\"format\": \"kubernetes\"}"), HasSubstr("m.json:1"));
}

const std::string wide_mig_node =
    R"({"count": 100, "kind": "A100-40GB", "mode": "mig", "devices": 1, "cpu_milli": 1, "memory_mib": 1,
        "profiles": ["1g.10gb", "2g.10gb", "7g.40gb"]})";
const std::string named_profiles =
    R"({"name": "a", "weight": 1, "mean_duration_s": 100, "request": {"profile": "2g.10gb"}},
                                      {"name": "b", "weight": 3, "mean_duration_s": 100, "request": {"profile": "7g.40gb"}})";

vgpualloc::expected<vgputraces::drawn_workload> drawn_by_name(const std::string& model,
                                                              const vgputraces::generate_options& options = {}) {
    return vgputraces::draw_workload(model, "m.json", options, vgpualloc::built_in_catalog(), vgpualloc::dialect_set{},
                                     vgputraces::profile_wish::by_name);
}

TEST(workload_model, a_load_is_the_rate_at_which_devices_are_asked_for) {
    const auto drawn =
        drawn_by_name(model_of(wide_mig_node, named_profiles, 20'000, R"({"process": "poisson", "load": 0.5})"))
            .value();
    ASSERT_EQ(drawn.demands.size(), 2U);
    EXPECT_EQ(drawn.demands[0].profile, "2g.10gb"); // by memory it would be 1g.10gb
    EXPECT_EQ(drawn.demands[0].share.memory * 4, vgputraces::device_parts::whole);
    EXPECT_EQ(drawn.demands[0].share.compute * 7, 2 * vgputraces::device_parts::whole);
    // One row keeps (1/4 x 2/7 + 3/4) of a GPU busy for 100 s, by compute, which is more than by memory.
    const double interval_s = (0.25 * 2 / 7 + 0.75) * 100 / (0.5 * 100);
    const double span_s = static_cast<double>(drawn.arrivals.rows.back().arrival.count()) / 1e6;
    EXPECT_NEAR(span_s / 20'000 / interval_s, 1.0, 0.03);
}

TEST(workload_model, the_warm_up_comes_before_the_count) {
    std::string model = model_of(wide_mig_node, named_profiles, 50, R"({"process": "poisson", "load": 1.0})");
    model.replace(model.find(R"("count": 50)"), 11, R"("count": 50, "warm_up_lifetimes": 3)");
    const auto drawn = drawn_by_name(model).value();
    ASSERT_EQ(drawn.arrivals.rows.size(), drawn.warm_up_rows + 50);
    EXPECT_LT(drawn.arrivals.rows[drawn.warm_up_rows - 1].arrival.count(), 300'000'000);
    EXPECT_GE(drawn.arrivals.rows[drawn.warm_up_rows].arrival.count(), 300'000'000);
    EXPECT_NEAR(static_cast<double>(drawn.warm_up_rows), 365, 80);
}

TEST(workload_model, a_load_of_pods_ends_where_the_memory_is_asked_for) {
    std::string model = model_of(wide_mig_node, named_profiles, 50);
    model.replace(model.find(R"("count": 50)"), 11, R"("load": 1.3)");
    const auto drawn = drawn_by_name(model).value();
    std::int64_t memory = 0;
    for (const auto& row : drawn.arrivals.rows) memory += drawn.demands[row.pod_class].share.memory;
    EXPECT_GE(memory, 130 * vgputraces::device_parts::whole);
    EXPECT_LT(memory, 131 * vgputraces::device_parts::whole);
}

TEST(workload_model, loads_that_make_no_sense_are_refused) {
    const std::string stays = R"({"name": "a", "weight": 1, "request": {"profile": "7g.40gb"}})";
    EXPECT_THAT(refusal_of_model(model_of(wide_mig_node, stays, 5, R"({"process": "poisson", "load": 1.0})")),
                HasSubstr("durations of all classes"));
    vgputraces::generate_options loaded;
    loaded.offered_load = 1.0;
    EXPECT_THAT(refusal_of_model(model_of(wide_mig_node, stays), loaded), HasSubstr("poisson"));
    EXPECT_THAT(
        refusal_of_model(model_of(wide_mig_node, R"({"name": "a", "weight": 1, "request": {"profile": "3g.20gb"}})")),
        HasSubstr("1g.10gb, 2g.10gb, 7g.40gb"));
}

} // namespace
