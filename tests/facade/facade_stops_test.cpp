// How long calls of the facade take to return once the caller wants an end. Usage: facade_stops_test [SIZE [NAME…]]:
// the inputs are SIZE times as large (1), and of the calls those whose names contain a NAME are made. Times are of the
// processor, and the limit is a multiple of the time of a loop beside the calls, so that other programs count little.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stop_inputs.hpp"
#include "vgpufacade/compare.hpp"
#include "vgpufacade/experiment.hpp"
#include "vgpufacade/explain.hpp"
#include "vgpufacade/plan.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpufacade/validate.hpp"
#include "vgpufacade/whatif.hpp"

namespace {

using vgpualloc::expected;
using vgpualloc::unexpected;
using vgpufacade::progress;

double now_ms() {
    std::timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// What a call came to; the value itself is of no interest, but its end belongs to the call.
template <class Value>
expected<void> end_of(expected<Value> result) {
    if (!result) return unexpected(std::move(result).error());
    return {};
}

struct long_call {
    std::string name;
    std::function<expected<void>(const progress&)> make;
};

/// Milliseconds of a loop that every machine has: keys sorted.
double calibrate() {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
        std::vector<std::uint64_t> keys(400'000);
        std::uint64_t state = 1;
        for (std::uint64_t& key : keys) key = state = state * 6364136223846793005U + 1442695040888963407U;
        const double begin = now_ms();
        std::ranges::sort(keys);
        best = std::min(best, now_ms() - begin);
    }
    return best;
}

struct stop_times {
    double whole_ms = 0.0;
    double worst_ms = 0.0;
    double worst_at_ms = 0.0;
    bool is_right = true; ///< every call ended well or with the error stopped, and soon where much was left
};

/// Makes the call once to its end, and then with an end that is wanted at so many moments.
stop_times measure(const long_call& call, int moments) {
    stop_times result;
    static_cast<void>(call.make({.stop = [] { return true; }})); // makes what it needs beforehand
    double begin = now_ms();
    const auto whole = call.make({});
    result.whole_ms = now_ms() - begin;
    if (!whole) {
        std::fprintf(stderr, "%s: %s\n", call.name.c_str(), whole.error().message().c_str());
        result.is_right = false;
        return result;
    }
    for (int moment = 0; moment < moments; ++moment) {
        const double raised_after =
            result.whole_ms * (0.01 + 0.98 * moment / (moments - 1)); // also just before its end
        begin = now_ms();
        const auto stopped = call.make({.stop = [&] { return now_ms() - begin >= raised_after; }});
        const double late = now_ms() - begin - raised_after;
        // However short a call is here: one that asks only at its end takes nearly all of its time.
        if (raised_after < result.whole_ms / 4 && late > 0.6 * result.whole_ms) {
            std::fprintf(stderr, "%s: an end was wanted after %.0f of %.0f ms and came %.0f ms later\n",
                         call.name.c_str(), raised_after, result.whole_ms, late);
            result.is_right = false;
        }
        if (!stopped && stopped.error().code != vgpualloc::error_code::stopped) {
            std::fprintf(stderr, "%s: %s\n", call.name.c_str(), stopped.error().message().c_str());
            result.is_right = false;
        }
        if (late <= result.worst_ms) continue;
        result.worst_ms = late;
        result.worst_at_ms = raised_after;
    }
    return result;
}

class long_calls {
public:
    explicit long_calls(double size) : size_{size}, columns_{scaled(500'000), 1'000} {
        source_.add("nodes", keep(facade_test::long_node_list(1'000)));
        source_.add("pods", keep(facade_test::long_pod_list(scaled(150'000), 1'000)));
        source_.add("columns", columns_.table());
        source_.add("few_pods", keep(facade_test::long_pod_list(scaled(15'000), 1'000)));
        source_.add("cluster.json", keep(facade_test::cluster_objects(scaled(2'000), scaled(4'000))));
        source_.add("nodes.json", keep(facade_test::node_objects(scaled(2'000))));
        source_.add("pods.yaml", keep(facade_test::pods_in_yaml(scaled(20'000))));
        source_.add("classes.yaml", keep(facade_test::class_objects()));
        source_.add("arrivals", keep(facade_test::arrival_table(scaled(20'000))));
    }

    [[nodiscard]] std::vector<long_call> all() const {
        return {
            {"prepare, a list of pods", [this](const progress& follow) { return prepare(openb("pods"), follow); }},
            {"prepare, columns of pods", [this](const progress& follow) { return prepare(openb("columns"), follow); }},
            {"simulate", [this](const progress& follow) { return simulate(openb("pods"), follow); }},
            {"files of a run, with trace", [this](const progress& follow) { return files(follow); }},
            {"simulate, periodic moves", [this](const progress& follow) { return simulate(defragmented(), follow); }},
            {"simulate, dual_price", [this](const progress& follow) { return simulate(priced(), follow); }},
            {"simulate, learned prices", [this](const progress& follow) { return simulate(learned(), follow); }},
            {"simulate, bound", [this](const progress& follow) { return simulate(bounded(), follow); }},
            {"simulate, nodes in JSON", [this](const progress& follow) { return prepare(kubernetes(), follow); }},
            {"simulate, compat:volcano", [this](const progress& follow) { return simulate(volcano(), follow); }},
            {"compare", [this](const progress& follow) { return end_of(compare(follow)); }},
            {"files of a comparison", [this](const progress& follow) { return comparison_files(follow); }},
            {"run_experiment", [this](const progress& follow) { return experiment(follow); }},
            {"validate, YAML", [this](const progress& follow) { return validate("pods.yaml", follow); }},
            {"validate, JSON", [this](const progress& follow) { return validate("cluster.json", follow); }},
            {"explain a pod",
             [this](const progress& follow) {
                 return explain("team/pod-" + std::to_string(scaled(2'000) * 6), follow);
             }},
            {"explain a file of pods", [this](const progress& follow) { return explain("pods.yaml", follow); }},
            {"whatif", [this](const progress& follow) { return whatif({}, follow); }},
            {"whatif, find nodes", [this](const progress& follow) { return whatif("node-0", follow); }},
            {"plan, consolidate", [this](const progress& follow) { return plan(follow); }},
        };
    }

private:
    [[nodiscard]] std::size_t scaled(std::size_t count) const {
        return static_cast<std::size_t>(static_cast<double>(count) * size_);
    }
    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    static vgpufacade::simulate_options openb(const char* pods) {
        vgpufacade::simulate_options options;
        options.config.nodes = "nodes";
        options.config.pods = pods;
        options.config.policy = "best_fit";
        options.config.departures = true;
        return options;
    }
    static vgpufacade::simulate_options defragmented() {
        auto options = openb("few_pods");
        options.config.defragment = vgpusim::defragment::periodic;
        return options;
    }
    static vgpufacade::simulate_options priced() {
        auto options = openb("pods");
        options.config.policy = "dual_price";
        return options;
    }
    static vgpufacade::simulate_options learned() {
        auto options = openb("few_pods");
        options.config.policy = "dual_price";
        options.config.price_demand = vgpusim::price_demand::learned;
        return options;
    }
    static vgpufacade::simulate_options bounded() {
        auto options = openb("few_pods");
        options.bound = true;
        return options;
    }
    static vgpufacade::simulate_options kubernetes() {
        vgpufacade::simulate_options options;
        options.config.format = "kubernetes";
        options.config.nodes = "nodes.json";
        options.config.classes = "classes.yaml";
        options.config.pods = "arrivals";
        options.config.policy = "best_fit";
        return options;
    }
    static vgpufacade::simulate_options volcano() {
        auto options = kubernetes();
        options.config.policy = "compat:volcano";
        return options;
    }

    [[nodiscard]] expected<void> prepare(vgpufacade::simulate_options options, const progress& follow) const {
        return end_of(vgpufacade::prepared_simulation::prepare(source_, std::move(options), follow));
    }
    [[nodiscard]] expected<void> simulate(vgpufacade::simulate_options options, const progress& follow) const {
        return end_of(vgpufacade::simulate(source_, std::move(options), follow));
    }
    [[nodiscard]] expected<void> files(const progress& follow) const {
        static const auto outcome = [this] {
            auto options = openb("pods");
            options.config.trace = true;
            options.config.discipline = "fifo";
            return vgpufacade::simulate(source_, std::move(options));
        }();
        if (!outcome) return unexpected(outcome.error());
        return end_of(outcome->files(follow));
    }
    [[nodiscard]] expected<vgpufacade::comparison> compare(const progress& follow) const {
        auto prepared = vgpufacade::prepared_comparison::prepare(source_, openb("few_pods").config,
                                                                 {"fgd", "best_fit", "spread", "ssp"}, follow);
        if (!prepared) return unexpected(prepared.error());
        return std::move(*prepared).run(follow);
    }
    [[nodiscard]] expected<void> comparison_files(const progress& follow) const {
        static const auto outcome = compare({});
        if (!outcome) return unexpected(outcome.error());
        return end_of(outcome->files(follow));
    }
    [[nodiscard]] expected<void> experiment(const progress& follow) const {
        vgpusim::experiment plan = vgpusim::experiment_of(openb("few_pods").config, {"best_fit", "spread"}, {1, 3});
        plan.lists.pods = {"few_pods"};
        return end_of(vgpufacade::run_experiment(source_, plan, 1, {}, follow));
    }
    [[nodiscard]] expected<void> validate(const char* name, const progress& follow) const {
        return end_of(vgpufacade::validate({.files = {name}}, source_, vgpualloc::stop_signal{follow.stop}));
    }
    [[nodiscard]] expected<void> explain(std::string pod, const progress& follow) const {
        vgpufacade::explain_question question{.cluster = {"cluster.json"}, .pod = std::move(pod)};
        std::size_t bytes = 0;
        return end_of(vgpufacade::explain(std::move(question), source_,
                                          {.text = [&](std::string_view text) { bytes += text.size(); }},
                                          vgpualloc::stop_signal{follow.stop}));
    }
    [[nodiscard]] expected<void> whatif(std::string find, const progress& follow) const {
        vgpufacade::whatif_question question{.cluster = {"cluster.json"}, .add_pods = {"pods.yaml"}};
        question.asked.policy = "best_fit";
        question.asked.find_kind = std::move(find);
        return end_of(vgpufacade::whatif(std::move(question), source_, vgpualloc::stop_signal{follow.stop}));
    }
    [[nodiscard]] expected<void> plan(const progress& follow) const {
        vgpufacade::plan_question question{.cluster = {"cluster.json"}, .consolidated = "devices"};
        return end_of(vgpufacade::plan_moves(std::move(question), source_, vgpualloc::stop_signal{follow.stop}));
    }

    double size_;
    facade_test::long_pod_columns columns_;
    std::deque<std::string> texts_;
    vgpuformats::memory_source source_;
};

} // namespace

int main(int argc, char** argv) {
    const double size = argc > 1 ? std::atof(argv[1]) : 1.0;
    const std::vector<std::string_view> names(argv + std::min(argc, 2), argv + argc);
    const double loop_ms = calibrate();
    constexpr double limit_in_loops = 8.0; // twice the tenth of a second that is promised
    const double limit_ms = limit_in_loops * loop_ms;
    std::printf("%-28s %10s %10s %10s\n", "call", "whole ms", "stop ms", "wanted at");
    int failures = 0;
    const long_calls calls{size};
    for (const long_call& call : calls.all()) {
        const auto is_named = [&](std::string_view name) { return call.name.find(name) != std::string::npos; };
        if (!names.empty() && std::ranges::none_of(names, is_named)) continue;
        const stop_times times = measure(call, size < 1.0 ? 4 : 8);
        std::printf("%-28s %10.0f %10.1f %10.0f\n", call.name.c_str(), times.whole_ms, times.worst_ms,
                    times.worst_at_ms);
        std::fflush(stdout);
        if (!times.is_right || times.worst_ms > limit_ms) ++failures;
    }
    std::printf("limit %.0f ms: %.0f times a loop of %.1f ms\n", limit_ms, limit_in_loops, loop_ms);
    return failures == 0 ? 0 : 1;
}
