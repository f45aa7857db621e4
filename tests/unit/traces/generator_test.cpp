// The trace generator: what it draws, that it draws the same everywhere, and which models it refuses.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "generator_models.hpp"
#include "vgpuformats/files.hpp"

namespace vgputraces {
namespace {

using vgpualloc::milli_gpu;
using vgpualloc::ticks;

std::vector<ticks> arrivals_of(const generated_trace& trace) {
    std::vector<ticks> times;
    for (const auto& pod : trace.pods) times.push_back(pod.creation_time.value_or(ticks{-1}));
    return times;
}

std::vector<std::array<std::int64_t, 4>> requests_of(const generated_trace& trace) {
    std::vector<std::array<std::int64_t, 4>> requests;
    for (const auto& pod : trace.pods) {
        requests.push_back({pod.cpu.count(), pod.memory.count(), pod.num_gpu, pod.gpu_milli.count()});
    }
    return requests;
}

std::vector<std::int64_t> durations_of(const generated_trace& trace) {
    std::vector<std::int64_t> seconds;
    for (const auto& pod : trace.pods) {
        const ticks life = pod.deletion_time.value_or(ticks{-1}) - pod.creation_time.value_or(ticks{0});
        seconds.push_back(life.count() / vgpualloc::ticks_per_second.count());
    }
    return seconds;
}

generate_options with_seed(std::uint64_t seed) {
    generate_options options;
    options.seed = seed;
    return options;
}

TEST(generator, same_seed_gives_the_same_bytes_and_another_seed_others) {
    const std::string first = bytes_of(generated(plain_json(), with_seed(7)));
    EXPECT_EQ(first, bytes_of(generated(plain_json(), with_seed(7))));
    EXPECT_NE(first, bytes_of(generated(plain_json(), with_seed(8))));
}

// Computed by a second implementation of rng.hpp and of docs/trace-model.md, written in Python.
TEST(generator, first_draws_are_the_recorded_ones) {
    const auto trace = generated(plain_json(), with_seed(1));
    const auto times = arrivals_of(trace);
    const auto lives = durations_of(trace);
    std::vector<std::int64_t> drawn;
    for (std::size_t i = 0; i < 4; ++i) {
        drawn.push_back(times[i].count() / vgpualloc::ticks_per_second.count());
        drawn.push_back(trace.pods[i].cpu.count());
        drawn.push_back(lives[i]);
    }
    EXPECT_EQ(drawn, (std::vector<std::int64_t>{138, 2000, 821, 162, 1000, 841, 562, 1000, 83, 749, 1000, 903}));
}

TEST(generator, classes_come_as_often_as_their_weights_say) {
    generate_options options = with_seed(3);
    options.pods = 100'000;
    const auto trace = generated(plain_json(), options);
    ASSERT_EQ(trace.pods_per_class.size(), 3U);
    // Five standard deviations of a binomial, sqrt(n p (1 - p)), rounded up.
    EXPECT_NEAR(static_cast<double>(trace.pods_per_class[0]), 60'000, 775);
    EXPECT_NEAR(static_cast<double>(trace.pods_per_class[1]), 30'000, 725);
    EXPECT_NEAR(static_cast<double>(trace.pods_per_class[2]), 10'000, 475);
    std::array<std::int64_t, 3> counted{};
    for (const auto& pod : trace.pods) ++counted[static_cast<std::size_t>(pod.cpu.count() / 1000 - 1)];
    EXPECT_TRUE(std::equal(counted.begin(), counted.end(), trace.pods_per_class.begin()));
}

TEST(generator, a_change_of_one_part_leaves_what_the_others_draw) {
    const auto base = generated(plain_json());
    const auto lives = generated(model_json(kinds_json, pods_json, arrivals_json, "[[0, 5], [1, 50]]"));
    EXPECT_EQ(arrivals_of(base), arrivals_of(lives));
    EXPECT_EQ(requests_of(base), requests_of(lives));
    EXPECT_NE(durations_of(base), durations_of(lives));

    const auto batch = generated(model_json(kinds_json, pods_json, R"({"process": "batch"})", durations_json));
    EXPECT_EQ(requests_of(base), requests_of(batch));
    EXPECT_EQ(durations_of(base), durations_of(batch));
    EXPECT_NE(arrivals_of(base), arrivals_of(batch));

    const std::string one_class = R"({"count": 1000, "classes": [
        {"weight": 1, "cpu_milli": 1, "memory_mib": 1, "num_gpu": 1, "gpu_milli": 1}]})";
    const auto uniform = generated(model_json(kinds_json, one_class, arrivals_json, durations_json));
    EXPECT_EQ(arrivals_of(base), arrivals_of(uniform));
    EXPECT_EQ(durations_of(base), durations_of(uniform));
}

TEST(generator, durations_of_one_class_shift_no_other_pod) {
    std::string own = pods_json;
    own.replace(own.find(R"("num_gpu": 0)"), 12, R"("num_gpu": 0, "duration_quantiles_s": [[0, 7], [1, 7]])");
    const auto base = generated(plain_json());
    const auto changed = generated(model_json(kinds_json, own, arrivals_json, durations_json));
    const auto before = durations_of(base);
    const auto after = durations_of(changed);
    for (std::size_t i = 0; i < base.pods.size(); ++i) {
        ASSERT_EQ(after[i], base.pods[i].num_gpu == 0 ? 7 : before[i]) << i;
    }
}

TEST(generator, more_pods_extend_the_list_of_fewer) {
    generate_options options;
    options.pods = 400;
    const auto few = requests_of(generated(plain_json(), options));
    auto many = requests_of(generated(plain_json()));
    many.resize(few.size());
    EXPECT_EQ(few, many);
}

TEST(generator, scaled_node_kinds_sum_exactly_and_keep_their_proportions) {
    for (const std::int64_t total : {1, 2, 3, 7, 10, 11, 99, 1234}) {
        generate_options options;
        options.nodes = total;
        const auto trace = generated(plain_json(), options);
        ASSERT_EQ(std::ssize(trace.nodes), total);
        std::map<std::string, double> counts;
        for (const auto& node : trace.nodes) counts[node.model] += 1;
        EXPECT_LT(std::abs(counts["G2"] - 0.5 * static_cast<double>(total)), 1) << total;
        EXPECT_LT(std::abs(counts["T4"] - 0.3 * static_cast<double>(total)), 1) << total;
        EXPECT_LT(std::abs(counts[""] - 0.2 * static_cast<double>(total)), 1) << total;
    }
}

TEST(generator, names_sort_in_the_order_of_the_lists) {
    generate_options options;
    options.pods = 10'001;
    const auto trace = generated(plain_json(), options);
    EXPECT_EQ(trace.nodes.front().name, "gen-node-0000");
    EXPECT_EQ(trace.nodes.back().name, "host-node-0009");
    EXPECT_EQ(trace.pods.front().name, "gen-pod-00000");
    for (std::size_t i = 1; i < trace.pods.size(); ++i) ASSERT_LT(trace.pods[i - 1].name, trace.pods[i].name);
}

TEST(generator, load_is_reached_and_passed_by_no_more_than_the_last_pod) {
    for (const double load : {0.01, 0.5, 1.3, 40.0}) {
        generate_options options;
        options.load = load;
        const auto trace = generated(plain_json(), options);
        ASSERT_EQ(trace.capacity, milli_gpu{46'000});
        const auto target = static_cast<std::int64_t>(load * 46'000 + 0.5);
        const auto& last = trace.pods.back();
        EXPECT_GE(trace.requested.count(), target);
        EXPECT_LT((trace.requested - last.num_gpu * last.gpu_milli).count(), target);
        milli_gpu sum;
        for (const auto& pod : trace.pods) sum += pod.num_gpu * pod.gpu_milli;
        EXPECT_EQ(trace.requested, sum);
    }
}

TEST(generator, load_met_exactly_is_enough) {
    const std::string whole = R"({"load": 1, "classes": [
        {"weight": 1, "cpu_milli": 1, "memory_mib": 1, "num_gpu": 1, "gpu_milli": 1000}]})";
    EXPECT_EQ(generated(model_json(kinds_json, whole, arrivals_json, durations_json)).pods.size(), 46U);
}

TEST(generator, equal_remainders_go_to_the_first_kinds) {
    const std::string three = R"({"total": 4, "kinds": [
        {"weight": 1, "cpu_milli": 1, "memory_mib": 1, "gpu": 0}, {"weight": 1, "cpu_milli": 2, "memory_mib": 1, "gpu": 0},
        {"weight": 1, "cpu_milli": 3, "memory_mib": 1, "gpu": 0}]})";
    const std::string idle =
        R"({"count": 1, "classes": [{"weight": 1, "cpu_milli": 1, "memory_mib": 1, "num_gpu": 0}]})";
    std::vector<std::int64_t> cpus;
    for (const auto& node : generated(model_json(three, idle, arrivals_json, durations_json)).nodes) {
        cpus.push_back(node.cpu.count());
    }
    EXPECT_EQ(cpus, (std::vector<std::int64_t>{1, 1, 2, 3}));
}

TEST(generator, poisson_gaps_have_the_mean_and_the_spread_of_an_exponential) {
    generate_options options = with_seed(5);
    options.pods = 100'000;
    const auto times = arrivals_of(generated(plain_json(), options));
    double sum = 0;
    double squares = 0;
    ticks before;
    for (const ticks time : times) {
        const double gap_s = static_cast<double>((time - before).count()) / 1e6;
        sum += gap_s;
        squares += gap_s * gap_s;
        before = time;
    }
    const double n = static_cast<double>(times.size());
    EXPECT_NEAR(sum / n, 100, 1.6); // five standard errors of 100 / sqrt(n)
    EXPECT_NEAR(squares / n - sum / n * sum / n, 10'000,
                450); // the standard error of the variance is sqrt(8 / n) of it
}

TEST(generator, hourly_weights_shape_the_day_and_keep_its_mean) {
    std::string weights = "0";
    for (int hour = 1; hour < 24; ++hour) weights += hour == 12 ? ", 25" : ", 1";
    const std::string arrivals =
        R"({"process": "poisson", "mean_interarrival_s": 100, "hourly_weights": [)" + weights + "]}";
    generate_options options = with_seed(9);
    options.pods = 86'400; // a hundred days
    const auto times = arrivals_of(generated(model_json(kinds_json, pods_json, arrivals, durations_json), options));
    std::array<double, 24> counts{};
    for (const ticks time : times) counts[static_cast<std::size_t>(time.count() / 3'600'000'000 % 24)] += 1;
    EXPECT_EQ(counts[0], 0);
    EXPECT_NEAR(counts[12], 86'400.0 * 25 / 47, 750);
    for (const std::size_t hour : {1U, 11U, 13U, 23U}) EXPECT_NEAR(counts[hour], 86'400.0 / 47, 220) << hour;
    EXPECT_NEAR(static_cast<double>(times.back().count()) / 86.4e9, 100, 1.8);
}

TEST(generator, fixed_and_batch_arrivals_are_exact) {
    const auto fixed =
        generated(model_json(kinds_json, pods_json, R"({"process": "fixed", "interval_s": 2.5})", durations_json));
    EXPECT_EQ(arrivals_of(fixed)[0], ticks{0});
    EXPECT_EQ(arrivals_of(fixed)[1], ticks{2'000'000}); // whole seconds, rounded down
    EXPECT_EQ(arrivals_of(fixed)[2], ticks{5'000'000});
    const auto batch = generated(model_json(kinds_json, pods_json, R"({"process": "batch"})", durations_json));
    EXPECT_EQ(arrivals_of(batch), std::vector<ticks>(1000));
}

TEST(generator, durations_follow_the_quantiles_and_last_at_least_a_second) {
    generate_options options = with_seed(2);
    options.pods = 100'000;
    auto seconds = durations_of(generated(plain_json(), options));
    std::sort(seconds.begin(), seconds.end());
    EXPECT_GE(seconds.front(), 10);
    EXPECT_LE(seconds.back(), 1000);
    EXPECT_NEAR(static_cast<double>(seconds[25'000]), 55, 2); // halfway from (0, 10) to (0.5, 100)
    EXPECT_NEAR(static_cast<double>(seconds[75'000]), 550, 20);
    const auto instant = generated(model_json(kinds_json, pods_json, arrivals_json, "[[0, 0], [1, 0.2]]"));
    EXPECT_EQ(durations_of(instant), std::vector<std::int64_t>(1000, 1));
}

TEST(generator, pods_without_durations_never_leave) {
    std::string json = plain_json();
    const std::string part = R"(, "duration_quantiles_s": )" + durations_json;
    json.erase(json.find(part), part.size());
    for (const auto& pod : generated(json).pods) ASSERT_FALSE(pod.deletion_time.has_value());
}

TEST(generator, marginals_draw_their_parts_independently) {
    const auto trace = generated(model_json(kinds_json, R"({"count": 40000, "marginals": {"weight": 1,
        "gpus": [{"weight": 1, "num_gpu": 0}, {"weight": 3, "num_gpu": 1, "gpu_milli": 500, "gpu_spec": "T4|G2"}],
        "cpus": [{"weight": 1, "cpu_milli": 1000}, {"weight": 1, "cpu_milli": 2000}],
        "memories": [{"weight": 1, "memory_mib": 1024}, {"weight": 4, "memory_mib": 4096}]}})",
                                            arrivals_json, durations_json));
    std::map<std::array<std::int64_t, 4>, double> counts;
    for (const auto& request : requests_of(trace)) counts[request] += 1;
    EXPECT_EQ(counts.size(), 8U);
    EXPECT_NEAR((counts[{1000, 4096, 1, 500}]), 40'000 * 0.3, 460);
    EXPECT_NEAR((counts[{2000, 1024, 0, 0}]), 40'000 * 0.025, 160);
    EXPECT_EQ(trace.pods_per_class, std::vector<std::int64_t>{40'000});
}

TEST(generator, the_effective_model_makes_the_same_again) {
    const std::string weights_json = R"({"total": 9, "kinds": [
        {"weight": 2, "cpu_milli": 96000, "memory_mib": 393216, "gpu": 8, "model": "G2"},
        {"weight": 1, "cpu_milli": 64000, "memory_mib": 262144, "gpu": 2, "model": "T4"}]})";
    generate_options options = with_seed(18'446'744'073'709'551'615U);
    options.load = 0.7;
    for (const auto& nodes : {kinds_json, weights_json}) {
        const auto trace = generated(model_json(nodes, pods_json, arrivals_json, durations_json), options);
        EXPECT_EQ(bytes_of(trace), bytes_of(generated(write_trace_model(trace.effective))));
    }
}

TEST(generator, shipped_quickstart_is_what_its_model_makes) {
    const std::string folder = std::string{VGA_SOURCE_DIR} + "/traces/";
    const auto text = vgpuformats::read_file(folder + "models/quickstart.json");
    ASSERT_TRUE(text) << text.error().message();
    const auto trace = generated(*text, with_seed(1));
    const auto same = [&](const std::string& name, const std::string& fresh) {
        const auto shipped = vgpuformats::read_file(folder + "quickstart/" + name);
        ASSERT_TRUE(shipped) << shipped.error().message();
        EXPECT_TRUE(*shipped == fresh) << name << " differs: see traces/quickstart/README.md";
    };
    same("nodes.csv", write_openb_nodes(trace.nodes));
    same("pods.csv", write_openb_pods(trace.pods));
    same("model.json", write_trace_model(trace.effective));
    EXPECT_TRUE(read_openb_nodes(write_openb_nodes(trace.nodes), "nodes.csv").value() == trace.nodes);
    EXPECT_TRUE(read_openb_pods(write_openb_pods(trace.pods), "pods.csv").value().pods == trace.pods);
}

TEST(generator, shipped_openb_model_has_the_counts_of_the_trace) {
    const auto text = vgpuformats::read_file(std::string{VGA_SOURCE_DIR} + "/traces/models/openb-like.json");
    ASSERT_TRUE(text) << text.error().message();
    const auto trace = generated(*text);
    EXPECT_EQ(trace.nodes.size(), 1213U);
    EXPECT_EQ(trace.capacity, milli_gpu{6'212'000});
    EXPECT_EQ(trace.pods.size(), 8152U);
    EXPECT_EQ(trace.pods_per_class.size(), 151U);
}

struct bad_model {
    const char* replaced; ///< replaced in the plain model …
    const char* put;      ///< … by this
    vgpualloc::error_code code;
    const char* field;
};

TEST(generator, bad_models_are_refused_with_the_place) {
    using enum vgpualloc::error_code;
    const std::vector<bad_model> table{
        {R"("nodes")", R"("knots": 1, "nodes")", unknown_name, "knots"},
        {R"("nodes")", R"("seed": -1, "nodes")", out_of_range, "seed"},
        {R"("nodes")", R"("seed": 1.5, "nodes")", malformed, "seed"},
        {R"("nodes")", R"("seed": 1, "seed": 1, "nodes")", duplicate, "seed"},
        {R"("nodes")", R"("prefix": "Gen", "nodes")", malformed, "prefix"},
        {R"("nodes")", R"("prefix": "", "nodes")", malformed, "prefix"},
        {R"("nodes")", R"("prefix": "a,b", "nodes")", malformed, "prefix"},
        {R"("kinds")", R"("total": 0, "kinds")", out_of_range, "nodes.total"},
        {R"("kinds")", R"("total": 99999999999999999999, "kinds")", out_of_range, "nodes.total"},
        {R"("count": 5)", R"("count": -5)", out_of_range, "nodes.kinds[0].count"},
        {R"("count": 5)", R"("count": "5")", malformed, "nodes.kinds[0].count"},
        {R"("count": 5)", R"("count": 18446744073709551615)", out_of_range, "nodes.kinds[0].count"},
        {R"("count": 5)", R"("weight": 5)", unsupported, "nodes.kinds[1].count"},
        {R"("count": 3, )", "", missing, "nodes.kinds[1].count"},
        {R"("gpu": 8, "model": "G2")", R"("gpu": 8)", missing, "nodes.kinds[0].model"},
        {R"("gpu": 8, "model": "G2")", R"("gpu": 0, "model": "G2")", unsupported, "nodes.kinds[0].model"},
        {R"("model": "T4")", R"("model": "T|4")", malformed, "nodes.kinds[1].model"},
        {R"("num_gpu": 2)", R"("num_gpu": 2, "gpu_milli": 500)", out_of_range, "pods.classes[1].gpu_milli"},
        {R"("num_gpu": 0)", R"("num_gpu": 0, "gpu_milli": 5)", out_of_range, "pods.classes[2].gpu_milli"},
        {R"("gpu_milli": 300)", R"("gpu_milli": 0)", out_of_range, "pods.classes[0].gpu_milli"},
        {R"(, "gpu_milli": 300)", "", missing, "pods.classes[0].gpu_milli"},
        {R"("num_gpu": 2)", R"("num_gpu": 2, "gpu_spec": "G2|A1")", unknown_name, "pods.classes[1].gpu_spec"},
        {R"("num_gpu": 2)", R"("num_gpu": 2, "gpu_spec": "G2|")", unknown_name, "pods.classes[1].gpu_spec"},
        {R"("num_gpu": 0)", R"("num_gpu": 0, "gpu_spec": "G2")", unsupported, "pods.classes[2].gpu_spec"},
        {R"("weight": 3)", R"("weight": -3)", out_of_range, "pods.classes[1].weight"},
        {R"("weight": 3)", R"("weight": 1e3)", malformed, "pods.classes[1].weight"},
        {R"("weight": 3)", R"("weight": 3, "color": 1)", unknown_name, "pods.classes[1].color"},
        {R"("weight": 3)", R"("weight": [[[]]])", malformed, "pods.classes[1].weight"},
        {R"("classes")", R"("load": 1, "classes")", unsupported, "pods.load"},
        {R"("count": 1000)", R"("count": 0)", out_of_range, "pods.count"},
        {R"("count": 1000)", R"("load": 0)", out_of_range, "pods.load"},
        {R"("classes")", R"("marginals": {"weight": 1}, "classes")", missing, "pods.marginals.gpus"},
        {R"("poisson")", R"("weekly")", unknown_name, "arrivals.process"},
        {R"("poisson")", R"("batch")", unknown_name, "arrivals.mean_interarrival_s"},
        {R"("mean_interarrival_s": 100)", R"("mean_interarrival_s": 0)", out_of_range, "arrivals.mean_interarrival_s"},
        {R"(_s": 100)", R"(_s": 100, "hourly_weights": [1, 2])", out_of_range, "arrivals.hourly_weights"},
        {"[0, 10]", "[0.1, 10]", out_of_range, "duration_quantiles_s[0][0]"},
        {"[0.5, 100]", "[0.5, 5]", out_of_range, "duration_quantiles_s[1][1]"},
        {"[0.5, 100]", "[0, 100]", out_of_range, "duration_quantiles_s[1][0]"},
        {"[0.5, 100]", "[0.5]", out_of_range, "duration_quantiles_s[1]"},
        {"[1, 1000]", "[0.9, 1000]", out_of_range, "duration_quantiles_s"},
        {"[1, 1000]", "[1, -1]", out_of_range, "duration_quantiles_s[2][1]"},
    };
    for (const auto& bad : table) {
        std::string json = plain_json();
        ASSERT_NE(json.find(bad.replaced), std::string::npos) << bad.replaced;
        json.replace(json.find(bad.replaced), std::string_view{bad.replaced}.size(), bad.put);
        const auto model = parse_trace_model(json, "m.json");
        ASSERT_FALSE(model) << bad.put;
        EXPECT_EQ(model.error().code, bad.code) << model.error().message();
        EXPECT_TRUE(model.error().where.starts_with("m.json:")) << model.error().message();
        EXPECT_EQ(model.error().field, bad.field) << model.error().message();
        EXPECT_EQ(model.error().message().find('\n'), std::string::npos);
    }
}

TEST(generator, lists_need_an_entry_that_can_be_drawn) {
    const auto place_of_failure = [](const std::string& nodes, const std::string& pods) {
        const auto model = parse_trace_model(model_json(nodes, pods, arrivals_json, durations_json), "m.json");
        return model ? "" : model.error().where.substr(0, 6) + " " + model.error().field;
    };
    const std::string class_0 = R"({"weight": 0, "cpu_milli": 1, "memory_mib": 1, "num_gpu": 0})";
    EXPECT_EQ(place_of_failure(R"({"kinds": []})", pods_json), "m.json nodes.kinds");
    EXPECT_EQ(place_of_failure(R"({"kinds": [{"count": 0, "cpu_milli": 1, "memory_mib": 1, "gpu": 0}]})", pods_json),
              "m.json nodes.kinds");
    EXPECT_EQ(place_of_failure(kinds_json, R"({"count": 1, "classes": []})"), "m.json pods.classes");
    EXPECT_EQ(place_of_failure(kinds_json, R"({"count": 1})"), "m.json pods.classes");
    EXPECT_EQ(place_of_failure(kinds_json, R"({"count": 1, "classes": [)" + class_0 + "]}"), "m.json pods.classes");
}

TEST(generator, texts_that_are_no_model_are_refused) {
    const std::string deep(1'000'000, '[');
    for (const std::string& text :
         {std::string{}, std::string{"{"}, std::string{"[]"}, std::string{"null"}, std::string{"7"},
          std::string{"{} {}"}, std::string{"{\"nodes\": 1e999}"}, std::string{"\xff"},
          std::string{"{\"prefix\": \"\xff\"}"}, deep, deep + std::string(deep.size(), ']')}) {
        const auto model = parse_trace_model(text, "m.json");
        ASSERT_FALSE(model) << text.substr(0, 40);
        EXPECT_TRUE(model.error().where.starts_with("m.json")) << model.error().message();
        EXPECT_LT(model.error().message().size(), 300U);
    }
}

TEST(generator, impossible_wishes_are_refused_with_the_option_or_the_key) {
    const auto failure = [](const std::string& json, const generate_options& options) {
        const auto model = parse_trace_model(json, "m.json");
        const auto trace = generate(model.value(), options);
        return trace ? "" : trace.error().where + (trace.error().field.empty() ? "" : " " + trace.error().field);
    };
    const auto wish = [](std::optional<std::int64_t> nodes, std::optional<std::int64_t> pods,
                         std::optional<double> load) { return generate_options{std::nullopt, nodes, pods, load}; };
    EXPECT_EQ(failure(plain_json(), wish(0, {}, {})), "--nodes");
    EXPECT_EQ(failure(plain_json(), wish(1'000'001, {}, {})), "--nodes");
    EXPECT_EQ(failure(plain_json(), wish({}, -1, {})), "--pods");
    EXPECT_EQ(failure(plain_json(), wish({}, {}, -0.5)), "--load");
    EXPECT_EQ(failure(plain_json(), wish({}, {}, std::strtod("nan", nullptr))), "--load");
    EXPECT_EQ(failure(plain_json(), wish({}, 5, 0.5)), "--load");

    std::string no_count = plain_json();
    no_count.erase(no_count.find(R"("count": 1000, )"), 15);
    EXPECT_EQ(failure(no_count, {}), "m.json pods.count");
    EXPECT_EQ(failure(no_count, wish({}, 5, {})), "");

    const std::string hosts = R"({"kinds": [{"weight": 1, "cpu_milli": 1, "memory_mib": 1, "gpu": 0}]})";
    const std::string on_hosts = model_json(hosts, pods_json, arrivals_json, durations_json);
    EXPECT_EQ(failure(on_hosts, {}), "m.json nodes.total");
    EXPECT_EQ(failure(on_hosts, wish(3, {}, {})), "");
    EXPECT_EQ(failure(on_hosts, wish(3, {}, 1.0)), "--load");

    const std::string idle = R"({"load": 1, "classes": [
        {"weight": 1, "cpu_milli": 1, "memory_mib": 1, "num_gpu": 0}]})";
    EXPECT_EQ(failure(model_json(kinds_json, idle, arrivals_json, durations_json), {}), "m.json pods.load");

    const std::string slow = R"({"process": "fixed", "interval_s": 1e9})";
    EXPECT_EQ(failure(model_json(kinds_json, pods_json, slow, durations_json), wish({}, 2000, {})), "m.json arrivals");
}

TEST(generator, a_list_in_pieces_is_the_list) {
    const auto model = parse_trace_model(plain_json(), "m.json");
    const generate_options options{.seed = {}, .nodes = {}, .pods = 30'000, .load = {}};
    const auto drawn = draw_trace(*model, options);
    ASSERT_TRUE(drawn.has_value());
    const auto pieces = openb_pods_in_pieces(*drawn);
    std::string list;
    int count = 0;
    for (std::string piece; pieces(piece); ++count) list += piece;
    EXPECT_GT(count, 1);
    EXPECT_TRUE(list == write_openb_pods(generated(plain_json(), options).pods));
}

} // namespace
} // namespace vgputraces
