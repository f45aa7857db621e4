// Draws a cluster and a workload from a trace model. One random stream per purpose, so that a change to one part of a
// model leaves what the other parts draw as it was.
#include "vgputraces/generator.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "draws.hpp"
#include "generator_limits.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgputraces {
namespace {

using vgpualloc::rng;

template <class Entry>
std::vector<std::int64_t> weights_of(const std::vector<Entry>& entries) {
    std::vector<std::int64_t> weights;
    for (const auto& entry : entries) weights.push_back(entry.weight);
    return weights;
}

/// The requests of the pods in turn.
class request_source {
public:
    request_source(const trace_model& model, const rng& root)
        : model_{&model}, classes_{class_weights(model)}, class_stream_{root.fork("classes")},
          gpu_stream_{root.fork("marginal gpus")}, cpu_stream_{root.fork("marginal cpus")},
          memory_stream_{root.fork("marginal memories")} {
        if (!model.marginals) return;
        gpus_.emplace(weights_of(model.marginals->gpus));
        cpus_.emplace(weights_of(model.marginals->cpus));
        memories_.emplace(weights_of(model.marginals->memories));
    }

    /// One ticket per class, and one more for the marginals if there are any.
    [[nodiscard]] static std::vector<std::int64_t> class_weights(const trace_model& model) {
        auto weights = weights_of(model.classes);
        if (model.marginals) weights.push_back(model.marginals->weight);
        return weights;
    }

    /// A number as drawn_pod::request.
    std::uint64_t draw() {
        const std::size_t number = classes_.draw(class_stream_);
        if (number < model_->classes.size()) return number;
        const auto& marginals = *model_->marginals;
        const std::size_t cpu = cpus_->draw(cpu_stream_);
        const std::size_t memory = memories_->draw(memory_stream_);
        const std::size_t gpu = gpus_->draw(gpu_stream_);
        return number + (gpu * marginals.memories.size() + memory) * marginals.cpus.size() + cpu;
    }

private:
    const trace_model* model_;
    lottery classes_;
    std::optional<lottery> gpus_, cpus_, memories_;
    rng class_stream_, gpu_stream_, cpu_stream_, memory_stream_;
};

/// What a number of request_source::draw() stands for.
struct request_parts {
    milli_cpu cpu;
    mib memory;
    const gpu_demand* gpu;
};

request_parts parts_of(const trace_model& model, std::uint64_t request) {
    if (request < model.classes.size()) {
        const auto& of = model.classes[request];
        return {.cpu = of.cpu, .memory = of.memory, .gpu = &of.gpu};
    }
    const auto& marginals = *model.marginals;
    const std::uint64_t choices = request - model.classes.size();
    const std::uint64_t without_cpu = choices / marginals.cpus.size();
    return {.cpu = marginals.cpus[choices % marginals.cpus.size()].value,
            .memory = marginals.memories[without_cpu % marginals.memories.size()].value,
            .gpu = &marginals.gpus[without_cpu / marginals.memories.size()].value};
}

const duration_quantiles& durations_of(const trace_model& model, std::size_t class_number) {
    const auto& own =
        class_number < model.classes.size() ? model.classes[class_number].durations : model.marginals->durations;
    return own.empty() ? model.durations : own;
}

/// The whole second nearest to the quantile (half up), at least 1 so that every pod exists for a while.
std::int64_t duration_s(const duration_quantiles& points, double probability) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(quantile_s(points, probability) + 0.5));
}

ticks whole_seconds(std::int64_t seconds) { return seconds * ticks_per_second; }

milli_gpu requested_by(const trace_model& model, const drawn_pod& pod) {
    const gpu_demand& gpu = *parts_of(model, pod.request).gpu;
    return gpu.num_gpu * gpu.gpu_milli;
}

namer pod_names(std::size_t pods) { return namer{"-pod-", pods}; }

bool requests_gpus(const trace_model& model) {
    const auto uses = [](const auto& entry, const gpu_demand& gpu) { return entry.weight > 0 && gpu.num_gpu > 0; };
    if (model.marginals && model.marginals->weight > 0) {
        for (const auto& choice : model.marginals->gpus) {
            if (uses(choice, choice.value)) return true;
        }
    }
    return std::any_of(model.classes.begin(), model.classes.end(),
                       [&](const pod_class& candidate) { return uses(candidate, candidate.gpu); });
}

/// The numbers that options and model leave to be settled before anything is drawn.
struct settings {
    std::vector<std::int64_t> node_counts;
    std::int64_t pods_most = limits::pods_max;
    std::optional<milli_gpu> requested_least; ///< stop as soon as this much is requested
};

error out_of_range(const char* option, const std::string& value, const std::string& range) {
    return bad_value(error_code::out_of_range, "", value, range).at(option);
}

std::optional<error> check_options(const generate_options& options) {
    const auto outside = [](std::optional<std::int64_t> amount, std::int64_t most) {
        return amount && (*amount < 1 || *amount > most);
    };
    if (outside(options.nodes, limits::nodes_max)) {
        return out_of_range("--nodes", std::to_string(*options.nodes), "1 to " + std::to_string(limits::nodes_max));
    }
    if (outside(options.pods, limits::pods_max)) {
        return out_of_range("--pods", std::to_string(*options.pods), "1 to " + std::to_string(limits::pods_max));
    }
    const auto load_outside = [](std::optional<double> load) {
        return load && !(*load >= limits::load_min && *load <= limits::load_max);
    };
    const char* range = "a number from 0.000001 to 1000";
    if (load_outside(options.load)) return out_of_range("--load", std::to_string(*options.load), range);
    if (load_outside(options.offered_load)) {
        return out_of_range("--offered-load", std::to_string(*options.offered_load), range);
    }
    if (options.pods && options.load) {
        return bad_input(error_code::unsupported, "", "either --pods or --load, not both").at("--load");
    }
    return std::nullopt;
}

/// Blames the option if the load came from there, else the model.
error impossible_load(const trace_model& model, const generate_options& options, const std::string& problem) {
    if (options.load) return bad_value(error_code::unsupported, "", "", problem).at("--load");
    return bad_value(error_code::unsupported, "pods.load", "", problem).at(model.source);
}

milli_gpu capacity_of(const trace_model& model, const std::vector<std::int64_t>& counts) {
    milli_gpu total;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        total += counts[i] * model.kinds[i].gpu_count * vgpualloc::whole_gpu;
    }
    return total;
}

std::vector<std::int64_t> shares_of(const std::vector<node_kind>& kinds) {
    std::vector<std::int64_t> shares;
    for (const auto& kind : kinds) shares.push_back(kind.share);
    return shares;
}

expected<std::vector<std::int64_t>> settle_nodes(const trace_model& model, const generate_options& options) {
    auto total = options.nodes ? options.nodes : model.node_total;
    if (!total && model.shares_are_weights) {
        return unexpected(bad_input(error_code::missing, "nodes.total",
                                    "kinds with weights need a number of nodes, here or as --nodes")
                              .at(model.source));
    }
    if (!total) {
        total = 0;
        for (const auto& kind : model.kinds) *total += kind.share;
    }
    if (*total > limits::nodes_max) {
        return unexpected(bad_value(error_code::out_of_range, "nodes.kinds", std::to_string(*total),
                                    "at most " + std::to_string(limits::nodes_max) + " nodes in all")
                              .at(model.source));
    }
    return apportion(shares_of(model.kinds), *total);
}

expected<settings> settle(const trace_model& model, const generate_options& options) {
    if (const auto failure = check_options(options)) return unexpected(*failure);
    auto counts = settle_nodes(model, options);
    if (!counts) return unexpected(counts.error());
    settings result{std::move(*counts), limits::pods_max, std::nullopt};
    const auto load = options.load ? options.load : model.load;
    if (options.pods || (model.pod_count && !options.load)) {
        result.pods_most = options.pods ? *options.pods : *model.pod_count;
        return result;
    }
    if (!load) {
        return unexpected(bad_input(error_code::missing, "pods.count",
                                    "a number of pods or a load is needed, here or as --pods or --load")
                              .at(model.source));
    }
    const milli_gpu capacity = capacity_of(model, result.node_counts);
    if (capacity.count() == 0) {
        return unexpected(impossible_load(model, options, "the cluster has no GPUs to load"));
    }
    if (!requests_gpus(model)) {
        return unexpected(impossible_load(model, options, "no class that can be drawn requests a GPU"));
    }
    const double target = *load * static_cast<double>(capacity.count());
    result.requested_least = milli_gpu{std::max<std::int64_t>(1, static_cast<std::int64_t>(target + 0.5))};
    return result;
}

std::vector<openb_node> make_nodes(const trace_model& model, const std::vector<std::int64_t>& counts) {
    const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const namer names{"-node-", static_cast<std::size_t>(total)};
    std::vector<openb_node> nodes;
    nodes.reserve(static_cast<std::size_t>(total));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto& kind = model.kinds[i];
        const auto& prefix = kind.prefix.empty() ? model.prefix : kind.prefix;
        for (std::int64_t n = 0; n < counts[i]; ++n) {
            nodes.push_back({names.name(prefix, nodes.size()), kind.cpu, kind.memory, kind.gpu_count, kind.model});
        }
    }
    return nodes;
}

/// Fills the pods of `trace` up to what `settled` says, all of them as if they came at time 0.
std::optional<error> draw_pods(const trace_model& model, const generate_options& options, const settings& settled,
                               const rng& root, drawn_trace& trace) {
    request_source requests{model, root};
    rng lives = root.fork("durations");
    while (std::ssize(trace.pods) < settled.pods_most) {
        if (settled.requested_least && trace.requested >= *settled.requested_least) break;
        auto& pod = trace.pods.emplace_back();
        pod.request = requests.draw();
        const std::size_t class_number = std::min<std::uint64_t>(pod.request, model.classes.size());
        ++trace.pods_per_class[class_number];
        trace.requested += requested_by(model, pod);
        const double probability = lives.unit(); // drawn for every pod, so that one class's durations shift no other's
        const auto& durations = durations_of(model, class_number);
        if (!durations.empty()) pod.duration_s = duration_s(durations, probability);
    }
    if (settled.requested_least && trace.requested < *settled.requested_least) {
        return impossible_load(model, options, "not reached with " + std::to_string(limits::pods_max) + " pods");
    }
    return std::nullopt;
}

/// Moves every pod to its time of arrival, wherever it was before.
std::optional<error> time_pods(const trace_model& model, const arrival_model& arrivals, const rng& root,
                               drawn_trace& trace) {
    arrival_clock clock{arrivals, root};
    for (auto& pod : trace.pods) {
        const std::int64_t created_s = clock.next().count() / ticks_per_second.count();
        if (created_s > limits::last_arrival_s_max) {
            return bad_input(error_code::out_of_range, "arrivals", "the last pod comes after 10^12 seconds")
                .at(model.source);
        }
        pod.created_s = created_s;
    }
    return std::nullopt;
}

/// As trace_facts::offered_load says.
std::optional<double> offered_load_of(const trace_model& model, const drawn_trace& trace) {
    __extension__ using wide = __int128;
    wide milli_ticks = 0;
    for (const auto& pod : trace.pods) {
        milli_ticks += static_cast<wide>(requested_by(model, pod).count()) * whole_seconds(pod.duration_s).count();
    }
    const ticks span = whole_seconds(trace.pods.back().created_s - trace.pods.front().created_s);
    if (milli_ticks == 0 || trace.capacity.count() == 0 || span <= ticks{}) return std::nullopt;
    return static_cast<double>(milli_ticks) / static_cast<double>(trace.capacity.count()) /
           static_cast<double>(span.count());
}

error impossible_offer(double target, const std::string& problem) {
    return bad_value(error_code::unsupported, "", std::to_string(target), problem).at("--offered-load");
}

/// Times the pods, at the interval at which they offer `target`. The load falls as the interval grows: in proportion,
/// but for whole seconds and, where the hours of the day differ, for the hour in which the last pod comes. So the next
/// guess is in proportion too, unless earlier ones rule it out; then it is in the middle of what they leave.
expected<arrival_model> time_pods_at(double target, const trace_model& model, const rng& root, drawn_trace& trace) {
    constexpr int guesses_max = 60;
    constexpr double tolerance = 0.001;
    arrival_model arrivals = model.arrivals;
    if (arrivals.process == arrival_process::batch) {
        return unexpected(impossible_offer(target, "arrivals over time; those of process batch come at once"));
    }
    double too_short = 0.5; // ticks
    double too_long = limits::seconds_max * static_cast<double>(ticks_per_second.count()) + 0.5;
    for (int guess = 0; guess < guesses_max; ++guess) {
        if (const auto failure = time_pods(model, arrivals, root, trace)) return unexpected(*failure);
        trace.offered_load = offered_load_of(model, trace);
        if (!trace.offered_load) {
            return unexpected(
                impossible_offer(target, "a model in which pods that ask for a GPU leave, and arrivals seconds apart"));
        }
        const double ratio = *trace.offered_load / target;
        if (std::abs(ratio - 1.0) <= tolerance) return arrivals;
        const auto interval = static_cast<double>(arrivals.interval.count());
        (ratio > 1.0 ? too_short : too_long) = interval;
        double next = interval * ratio;
        if (next <= too_short || next >= too_long) next = (too_short + too_long) / 2.0;
        arrivals.interval = ticks{static_cast<std::int64_t>(next + 0.5)};
        if (static_cast<double>(arrivals.interval.count()) == interval) break;
    }
    return unexpected(impossible_offer(
        target, "a load that arrivals at whole seconds and at the model's hours can give; with more pods it may be"));
}

/// The model with every open choice replaced by what was made of it.
trace_model pin(const trace_model& model, std::uint64_t seed, const std::vector<std::int64_t>& counts,
                std::size_t pods) {
    trace_model pinned = model;
    pinned.seed = seed;
    for (std::size_t i = 0; i < counts.size(); ++i) pinned.kinds[i].share = counts[i];
    pinned.shares_are_weights = false;
    pinned.node_total.reset();
    pinned.load.reset();
    pinned.pod_count = static_cast<std::int64_t>(pods);
    return pinned;
}

} // namespace

expected<drawn_trace> draw_trace(const trace_model& model, const generate_options& options) {
    VGA_ASSERT(!model.kinds.empty() && (!model.classes.empty() || model.marginals), "a model has kinds and requests");
    const auto settled = settle(model, options);
    if (!settled) return unexpected(settled.error());
    const std::uint64_t seed = options.seed.value_or(model.seed);
    drawn_trace trace;
    trace.nodes = make_nodes(model, settled->node_counts);
    trace.capacity = capacity_of(model, settled->node_counts);
    trace.pods_per_class.resize(model.classes.size() + (model.marginals ? 1 : 0));
    if (!settled->requested_least) trace.pods.reserve(static_cast<std::size_t>(settled->pods_most));
    const rng root{seed};
    if (const auto failure = draw_pods(model, options, *settled, root, trace)) {
        return unexpected(*failure);
    }
    trace.effective = pin(model, seed, settled->node_counts, trace.pods.size());
    if (options.offered_load) {
        const auto arrivals = time_pods_at(*options.offered_load, model, root, trace);
        if (!arrivals) return unexpected(arrivals.error());
        trace.effective.arrivals = *arrivals;
    } else {
        if (const auto failure = time_pods(model, model.arrivals, root, trace)) return unexpected(*failure);
        trace.offered_load = offered_load_of(model, trace);
    }
    return trace;
}

openb_pod drawn_trace::pod_at(std::size_t position) const {
    const drawn_pod& drawn = pods[position];
    const request_parts parts = parts_of(effective, drawn.request);
    openb_pod pod{.name = pod_names(pods.size()).name(effective.prefix, position),
                  .cpu = parts.cpu,
                  .memory = parts.memory,
                  .num_gpu = parts.gpu->num_gpu,
                  .gpu_milli = parts.gpu->gpu_milli,
                  .gpu_spec = parts.gpu->gpu_spec,
                  .creation_time = whole_seconds(drawn.created_s),
                  .deletion_time = {}};
    if (drawn.duration_s > 0) pod.deletion_time = whole_seconds(drawn.created_s + drawn.duration_s);
    return pod;
}

vgpuformats::piece_source openb_pods_in_pieces(const drawn_trace& trace) {
    return [&trace, next = std::size_t{0}, begun = false](std::string& piece) mutable {
        piece.clear();
        if (!begun) piece = openb_pods_header();
        begun = true;
        while (next < trace.pods.size() && piece.size() < piece_bytes) append_openb_pod(piece, trace.pod_at(next++));
        return !piece.empty();
    };
}

expected<generated_trace> generate(const trace_model& model, const generate_options& options) {
    auto drawn = draw_trace(model, options);
    if (!drawn) return unexpected(std::move(drawn).error());
    generated_trace trace;
    trace.pods.reserve(drawn->pods.size());
    for (std::size_t i = 0; i < drawn->pods.size(); ++i) trace.pods.push_back(drawn->pod_at(i));
    static_cast<trace_facts&>(trace) = std::move(static_cast<trace_facts&>(*drawn));
    return trace;
}

} // namespace vgputraces
