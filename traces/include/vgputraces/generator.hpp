// Synthetic clusters and workloads in the openb format, made from a JSON model and a seed (docs/trace-model.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuformats/files.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/openb.hpp"

namespace vgputraces {

/// Nodes of one shape.
struct node_kind {
    std::int64_t share = 0; ///< number of nodes, or weight: see trace_model::node_total
    std::string prefix;     ///< of the node names; empty = trace_model::prefix
    milli_cpu cpu;
    mib memory;
    int gpu_count = 0;
    std::string model; ///< empty on nodes without GPUs
};

/// The GPU part of a request, with the meaning of the openb columns num_gpu, gpu_milli and gpu_spec.
struct gpu_demand {
    int num_gpu = 0;
    milli_gpu gpu_milli;
    std::string gpu_spec;
};

/// One point of an inverse distribution function: a share `probability` of the pods lives at most `seconds`.
struct quantile_point {
    double probability = 0;
    double seconds = 0;
};
using duration_quantiles = std::vector<quantile_point>; ///< from probability 0 to 1; linear in between

/// One row of the joint table of requests.
struct pod_class {
    std::int64_t weight = 0;
    milli_cpu cpu;
    mib memory;
    gpu_demand gpu;
    duration_quantiles durations; ///< empty = trace_model::durations
};

template <class Value>
struct weighted {
    std::int64_t weight = 0;
    Value value{};
};

/// Requests whose three parts are drawn independently. Takes part in the draw among the classes with its own weight.
struct pod_marginals {
    std::int64_t weight = 0;
    std::vector<weighted<gpu_demand>> gpus;
    std::vector<weighted<milli_cpu>> cpus;
    std::vector<weighted<mib>> memories;
    duration_quantiles durations; ///< empty = trace_model::durations
};

enum class arrival_process {
    batch,   ///< all at time 0
    fixed,   ///< one every interval, the first at time 0
    poisson, ///< exponential gaps with the interval as their mean, the first after one gap
};

struct arrival_model {
    arrival_process process = arrival_process::batch;
    ticks interval;
    /// Relative arrival rate in each hour of the day, hour 0 first; the interval stays the mean over a whole day.
    std::optional<std::array<std::int64_t, 24>> hourly_weights;
    /// The offered load that the interval is chosen for, in models of the general workload (docs/trace-model.md).
    std::optional<double> load{};
};

struct trace_model {
    std::string source; ///< what to call the model in an error; not part of its JSON
    std::string description;
    std::string prefix = "gen"; ///< names are <prefix>-node-<digits> and <prefix>-pod-<digits>
    std::uint64_t seed = 1;
    std::vector<node_kind> kinds;
    bool shares_are_weights = false;        ///< the kinds say "weight": node_total must come from somewhere
    std::optional<std::int64_t> node_total; ///< scales the kinds; absent = the shares are the numbers of nodes
    std::optional<std::int64_t> pod_count;  ///< at most one of this and load
    std::optional<double> load;             ///< requested milli-GPU / milli-GPU of the cluster
    std::vector<pod_class> classes;         ///< may be empty if there are marginals
    std::optional<pod_marginals> marginals;
    arrival_model arrivals;
    duration_quantiles durations; ///< empty = pods never leave
};

/// Set members replace what the model says. `pods` and `load` exclude each other.
struct generate_options {
    std::optional<std::uint64_t> seed;
    std::optional<std::int64_t> nodes;
    std::optional<std::int64_t> pods;
    std::optional<double> load;
    /// Sets the arrival interval so that arrival rate × duration × GPUs asked for is this multiple of all GPUs.
    std::optional<double> offered_load{};
    /// Of models of the general workload: the dialect in which GPUs of mode mig register, in place of the model's.
    std::string mig_dialect{};
};

/// What was drawn, but for the pods.
struct trace_facts {
    std::vector<openb_node> nodes;
    milli_gpu capacity;
    milli_gpu requested;
    /// GPU time that the pods which leave ask for, over the time between the first and the last arrival, of all GPUs;
    /// absent where no such pod asks for a GPU or no time passes.
    std::optional<double> offered_load;
    std::vector<std::int64_t> pods_per_class; ///< in the order of the classes; the marginals, if any, last
    trace_model effective;                    ///< the model with seed and counts filled in: generates the same again
};

struct generated_trace : trace_facts {
    std::vector<openb_pod> pods; ///< in order of arrival
};

/// A pod as it is drawn: small, because there may be ten million.
struct drawn_pod {
    std::uint64_t request = 0;   ///< number of its class; behind the classes, of its choices among the marginals
    std::int64_t created_s = 0;  ///< since the trace began
    std::int64_t duration_s = 0; ///< 0: it stays
};

struct drawn_trace : trace_facts {
    std::vector<drawn_pod> pods; ///< in order of arrival

    /// The pod at a position, with its name and request.
    [[nodiscard]] openb_pod pod_at(std::size_t position) const;
};

/// Strict: unknown and duplicate keys, wrong types and numbers out of range are errors whose `where` is `where` and the
/// JSON pointer of the enclosing object or list, and whose `field` is the key or position in it.
[[nodiscard]] expected<trace_model> parse_trace_model(std::string_view json_text, const std::string& where);

/// The JSON of a model, one line per node kind and class; parses back to an equal model.
[[nodiscard]] std::string write_trace_model(const trace_model& model);

/// Same model, options and seed: same result on every platform. Errors: no number of nodes or pods, both `pods` and
/// `load`, a load or an offered load that cannot be reached, a number above the limits of docs/trace-model.md.
[[nodiscard]] expected<generated_trace> generate(const trace_model& model, const generate_options& options);
/// The same with pods that take a fifth of the memory.
[[nodiscard]] expected<drawn_trace> draw_trace(const trace_model& model, const generate_options& options);

/// write_openb_pods() of a trace, which has to outlive this, in pieces.
[[nodiscard]] vgpuformats::piece_source openb_pods_in_pieces(const drawn_trace& trace);

} // namespace vgputraces
