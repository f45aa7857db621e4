// The reference workload builder.
#include "vgpusim/workload/openb.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "vgpualloc/compat/fgd/go_random.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpusim/workload/offered_load.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim {

using vgputraces::openb_node;
using vgputraces::openb_pod;

namespace {

/// The reference throws one draw away before the shuffle and ten between tuning and the node order.
constexpr int draws_before_shuffle = 1;
constexpr int draws_before_node_order = 10;

constexpr int typical_percent = 95;

/// A pod of the list being built: an original, or a numbered copy of one.
struct listed_pod {
    std::uint32_t source = 0; ///< position in the name-sorted list
    std::int32_t copy = -1;
};

milli_gpu gpus_requested(const openb_pod& pod) { return pod.gpu_milli * pod.num_gpu; }

void discard(vgpualloc::compat::go_random& random, int draws) {
    for (int i = 0; i < draws; ++i) static_cast<void>(random.word());
}

/// Copies random pods until the next one would exceed the target. As in the reference the test uses the milli-GPU of
/// one GPU while the sum grows by all of them.
expected<void> tune_up(std::vector<listed_pod>& list, const std::vector<openb_pod>& by_name, std::int64_t requested,
                       double target, vgpualloc::compat::go_random& random) {
    constexpr std::size_t pods_max = 50'000'000;
    const auto count = static_cast<std::int32_t>(by_name.size());
    for (std::int32_t copy = 0;; ++copy) {
        const auto source = static_cast<std::uint32_t>(random.intn(count));
        const openb_pod& picked = by_name[source];
        if (static_cast<double>(requested + picked.gpu_milli.count()) > target) return {};
        if (list.size() >= pods_max) {
            return unexpected(
                bad_input(error_code::out_of_range, "tune", "the target load needs more than 50 million pods"));
        }
        requested += gpus_requested(picked).count();
        list.push_back({.source = source, .copy = copy});
    }
}

/// Positions 0..size-1 that can be asked for by rank among those not yet removed: a Fenwick tree of counts.
class survivors {
public:
    explicit survivors(std::size_t size) : counts_(size + 1, 0), left_{size} {
        for (std::size_t i = 1; i <= size; ++i) {
            counts_[i] += 1;
            if (const std::size_t parent = i + (i & (~i + 1)); parent <= size) counts_[parent] += counts_[i];
        }
    }
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

    /// Removes the survivor of that rank and gives its position.
    std::size_t remove(std::size_t rank) {
        std::size_t position = 0;
        for (std::size_t step = std::bit_floor(counts_.size() - 1); step > 0; step >>= 1U) {
            if (position + step < counts_.size() && counts_[position + step] <= rank) {
                position += step;
                rank -= counts_[position];
            }
        }
        for (std::size_t i = position + 1; i < counts_.size(); i += i & (~i + 1)) --counts_[i];
        --left_;
        return position;
    }

private:
    std::vector<std::size_t> counts_;
    std::size_t left_;
};

/// Removes random pods, the others keeping their order, until the list asks for no more than the target.
void tune_down(std::vector<listed_pod>& list, const std::vector<openb_pod>& by_name, std::int64_t requested,
               double target, vgpualloc::compat::go_random& random) {
    survivors alive{list.size()};
    std::vector<bool> removed(list.size(), false);
    while (static_cast<double>(requested) > target && alive.left() > 0) {
        const auto rank = static_cast<std::size_t>(random.intn(static_cast<std::int32_t>(alive.left())));
        const std::size_t position = alive.remove(rank);
        removed[position] = true;
        requested -= gpus_requested(by_name[list[position].source]).count();
    }
    std::size_t position = 0;
    std::erase_if(list, [&](const listed_pod&) { return removed[position++]; });
}

expected<void> tune(std::vector<listed_pod>& list, const std::vector<openb_pod>& by_name, std::int64_t capacity,
                    double ratio, vgpualloc::compat::go_random& random) {
    if (ratio <= 0.0) return {};
    std::int64_t requested = 0;
    for (const openb_pod& pod : by_name) requested += gpus_requested(pod).count();
    const double target = ratio * static_cast<double>(capacity);
    if (static_cast<double>(requested) < target) {
        if (requested == 0) {
            return unexpected(bad_input(error_code::unsupported, "tune",
                                        "the pod list asks for no GPU, so its load cannot be tuned"));
        }
        return tune_up(list, by_name, requested, target, random);
    }
    if (static_cast<double>(requested) > target) tune_down(list, by_name, requested, target, random);
    return {};
}

void add_nodes(simulation_input& input, const std::vector<openb_node>& nodes, const workload_options& options,
               vgpualloc::compat::go_random& random) {
    std::vector<std::uint32_t> by_name(nodes.size());
    std::iota(by_name.begin(), by_name.end(), 0U);
    std::ranges::sort(by_name, {}, [&](std::uint32_t i) -> const std::string& { return nodes[i].name; });
    const auto rank = random.perm(nodes.size()); // of the i-th node by name
    std::vector<std::uint32_t> by_rank(nodes.size());
    input.node_list_order.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        by_rank[rank[i]] = by_name[i];
        input.node_list_order[by_name[i]] = rank[i];
    }
    for (const std::uint32_t line : by_rank) {
        const openb_node& node = nodes[line];
        vgpualloc::openb::add_node(input.nodes, node.name, node.cpu, node.memory, node.gpu_count, node.model,
                                   *options.mode);
    }
}

/// Gives every pod the number of its distinct request.
std::vector<std::uint32_t> add_requests(simulation_input& input, const std::vector<openb_pod>& by_name) {
    using key = std::tuple<std::int64_t, std::int64_t, int, std::int64_t, std::string_view>;
    std::map<key, std::uint32_t> numbers;
    std::vector<std::uint32_t> request_of;
    std::vector<vgpualloc::requested_amount> amounts;
    request_of.reserve(by_name.size());
    for (const openb_pod& pod : by_name) {
        const auto [number, added] =
            numbers.emplace(key{pod.cpu.count(), pod.memory.count(), pod.num_gpu, pod.gpu_milli.count(), pod.gpu_spec},
                            static_cast<std::uint32_t>(input.requests.size()));
        if (added) {
            input.requests.push_back(
                vgpualloc::openb::make_request(pod.cpu, pod.memory, pod.num_gpu, pod.gpu_milli, pod.gpu_spec));
            amounts.push_back(requested_milli(pod.num_gpu, pod.gpu_milli));
        }
        request_of.push_back(number->second);
    }
    input.requested = requested_table{amounts, device_count(input.nodes)};
    return request_of;
}

expected<void> take_times_from_trace(simulation_input& input, const std::vector<openb_pod>& by_name) {
    for (arriving_pod& pod : input.pods) {
        const openb_pod& source = by_name[pod.name];
        if (!source.creation_time) {
            return unexpected(bad_input(error_code::missing, "creation_time", "missing",
                                        "in the pod list, because departures are replayed")
                                  .at("pod " + source.name));
        }
        pod.arrival = *source.creation_time;
        if (source.deletion_time) pod.duration = *source.deletion_time - *source.creation_time;
    }
    std::ranges::sort(input.pods, {}, [](const arriving_pod& pod) {
        return std::tuple{pod.arrival, pod.copy >= 0, pod.copy, pod.name};
    });
    return {};
}

/// The most frequent of the pods until so many of a hundred are covered.
vgpualloc::workload most_frequent(const std::vector<openb_pod>& pods, int percent) {
    using key = std::tuple<std::int64_t, std::int64_t, int, std::string_view>;
    std::map<key, std::int64_t> counts;
    for (const openb_pod& pod : pods) {
        ++counts[{pod.cpu.count(), pod.gpu_milli.count(), pod.num_gpu, pod.gpu_spec}];
    }
    std::vector<std::pair<std::int64_t, key>> order;
    for (const auto& [shape, count] : counts) order.emplace_back(count, shape);
    std::ranges::sort(order, std::greater{});
    const auto total = static_cast<std::int64_t>(pods.size());
    const double pods_to_cover = percent * static_cast<double>(total) / 100.0;
    vgpualloc::workload result;
    std::int64_t pods_covered = 0;
    for (const auto& [count, shape] : order) {
        if (static_cast<double>(pods_covered) >= pods_to_cover) break;
        pods_covered += count;
        const auto& [cpu, milli, num_gpu, spec] = shape;
        const auto request =
            vgpualloc::openb::make_request(vgpualloc::milli_cpu{cpu}, {}, num_gpu, milli_gpu{milli}, spec);
        result.typical.push_back({.cpu = request.cpu,
                                  .containers = request.containers,
                                  .frequency = static_cast<double>(count) / static_cast<double>(total),
                                  .weight = count});
    }
    if (result.typical.size() < order.size()) {
        const double covered_share = static_cast<double>(pods_covered) / static_cast<double>(total);
        for (auto& typical : result.typical) typical.frequency /= covered_share;
    }
    return result;
}

/// By the bytes of names, which are unique. Pods are large: keys are sorted, and most are told apart by the first eight
/// bytes behind what all names begin with.
void sort_by_name(std::vector<openb_pod>& pods) {
    if (pods.empty()) return;
    std::string_view common = pods.front().name;
    for (const openb_pod& pod : pods) {
        const auto differs = std::ranges::mismatch(common, std::string_view{pod.name}).in1;
        common = common.substr(0, static_cast<std::size_t>(differs - common.begin()));
    }
    struct sort_key {
        std::uint64_t head;
        std::uint32_t at;
    };
    std::vector<sort_key> keys;
    keys.reserve(pods.size());
    for (std::size_t i = 0; i < pods.size(); ++i) {
        std::uint64_t head = 0;
        for (std::size_t byte = common.size(); byte < common.size() + sizeof head; ++byte) {
            const bool is_there = byte < pods[i].name.size();
            head = head << 8U | (is_there ? static_cast<unsigned char>(pods[i].name[byte]) : 0U);
        }
        keys.push_back({.head = head, .at = static_cast<std::uint32_t>(i)});
    }
    std::ranges::sort(keys, [&](const sort_key& a, const sort_key& b) {
        return a.head != b.head ? a.head < b.head : pods[a.at].name < pods[b.at].name;
    });
    std::vector<openb_pod> sorted;
    sorted.reserve(pods.size());
    for (const sort_key& key : keys) sorted.push_back(std::move(pods[key.at]));
    pods = std::move(sorted);
}

} // namespace

vgpualloc::workload typical_pods(const std::vector<openb_pod>& pods) { return most_frequent(pods, typical_percent); }

vgpualloc::workload demand_of(const std::vector<openb_pod>& pods) { return most_frequent(pods, 100); }

expected<simulation_input> build_openb_workload(const std::vector<openb_node>& nodes, std::vector<openb_pod> pods,
                                                const workload_options& options) {
    simulation_input input;
    input.has_device_memory = false;
    input.reason_name = vgpualloc::openb::reason_name;
    input.typical = typical_pods(pods);
    input.demand = demand_of(pods);
    if (options.stop.raised()) return unexpected(stop_signal::stopped());
    sort_by_name(pods);
    if (options.stop.raised()) return unexpected(stop_signal::stopped());
    vgpualloc::compat::go_random random{options.seed};
    discard(random, draws_before_shuffle);
    std::vector<listed_pod> list(pods.size());
    for (std::size_t i = 0; i < list.size(); ++i) list[i].source = static_cast<std::uint32_t>(i);
    random.shuffle(list);
    std::int64_t capacity = 0;
    for (const openb_node& node : nodes) capacity += whole_gpu.count() * node.gpu_count;
    if (const auto tuned = tune(list, pods, capacity, options.tune, random); !tuned) {
        return unexpected(tuned.error());
    }
    discard(random, draws_before_node_order);
    add_nodes(input, nodes, options, random);
    const auto request_of = add_requests(input, pods);

    if (options.stop.raised()) return unexpected(stop_signal::stopped());
    input.pods.reserve(list.size());
    for (const listed_pod& listed : list) {
        const auto order = static_cast<std::int64_t>(input.pods.size());
        input.pods.push_back({.name = listed.source,
                              .copy = listed.copy,
                              .request = request_of[listed.source],
                              .arrival = order * ticks_per_second.count() * ticks{1},
                              .duration = std::nullopt});
    }
    if (options.departures) {
        if (const auto timed = take_times_from_trace(input, pods); !timed) return unexpected(timed.error());
    }
    if (options.offered_load > 0.0) {
        if (const auto offered = set_offered_load(input, milli_gpu{capacity}, options.offered_load); !offered) {
            return unexpected(offered.error());
        }
    }
    input.names.reserve(pods.size());
    for (openb_pod& pod : pods) input.names.push_back(std::move(pod.name));
    return input;
}

std::vector<error> models_not_there(const std::vector<openb_node>& nodes, const std::vector<openb_pod>& pods) {
    std::set<std::string_view> models;
    for (const openb_node& node : nodes) {
        if (node.gpu_count > 0) models.insert(node.model);
    }
    const auto is_there = [&models](std::string_view spec) {
        while (true) {
            const std::size_t bar = spec.find('|');
            if (models.contains(spec.substr(0, bar))) return true;
            if (bar == std::string_view::npos) return false;
            spec.remove_prefix(bar + 1);
        }
    };
    std::map<std::string_view, std::int64_t> pods_with; // by spelling
    std::vector<std::string_view> absent;
    for (const openb_pod& pod : pods) {
        if (pod.gpu_spec.empty()) continue;
        const auto [known, is_new] = pods_with.try_emplace(pod.gpu_spec, 0);
        if (is_new && !is_there(pod.gpu_spec)) absent.push_back(pod.gpu_spec);
        ++known->second;
    }
    std::vector<error> warnings;
    for (const std::string_view spec : absent) {
        const std::int64_t count = pods_with.at(spec);
        warnings.push_back(bad_value(error_code::unknown_name, "gpu_spec", spec,
                                     "a model of the node list; " +
                                         (count == 1 ? "a pod that asks" : std::to_string(count) + " pods that ask") +
                                         " for it can go nowhere"));
    }
    return warnings;
}

} // namespace vgpusim
