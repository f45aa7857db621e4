// What happens to the cluster and, where they crash, to its pods.
#include "vgpusim/workload/cluster_events.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "vgpualloc/core/rng.hpp"
#include "vgpusim/workload/autoscaling.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpusim {

using vgputraces::cluster_event_row;
using vgputraces::node_event;

namespace {

/// In what an event leaves a node or a device.
enum class condition : std::uint8_t { works, broken, draining, broken_and_drained, away };

constexpr std::array<std::string_view, 5> condition_words{"works", "is broken", "is drained", "is broken and drained",
                                                          "is away"};

struct transition {
    node_event what;
    condition from;
    condition to;
    cluster_change change;
};
constexpr std::array transitions{
    transition{node_event::fails, condition::works, condition::broken, cluster_change::stops},
    transition{node_event::fails, condition::draining, condition::broken_and_drained, cluster_change::stops},
    transition{node_event::repaired, condition::broken, condition::works, cluster_change::resumes},
    transition{node_event::repaired, condition::broken_and_drained, condition::draining, cluster_change::resumes},
    transition{node_event::drained, condition::works, condition::draining, cluster_change::drains},
    transition{node_event::undrained, condition::draining, condition::works, cluster_change::resumes},
    transition{node_event::leaves, condition::works, condition::away, cluster_change::stops},
    transition{node_event::leaves, condition::draining, condition::away, cluster_change::stops},
    transition{node_event::leaves, condition::broken, condition::away, cluster_change::stops},
    transition{node_event::leaves, condition::broken_and_drained, condition::away, cluster_change::stops},
    transition{node_event::joins, condition::away, condition::works, cluster_change::resumes},
};

/// A node, or a device of it.
struct event_target {
    node_index node;
    std::optional<device_index> device;

    auto operator<=>(const event_target&) const = default;
};

class event_adder {
public:
    event_adder(simulation_input& input, const std::string& source) : input_{&input}, source_{&source} {
        const auto& nodes = input.nodes.nodes;
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes_.emplace(nodes[i].name, node_index{i});
    }

    expected<void> add(const cluster_event_row& row) {
        if (row.what == node_event::crashes) return add_crash(row);
        const auto target = target_of(row);
        if (!target) return unexpected(target.error());
        auto known = conditions_.find(*target);
        if (known == conditions_.end()) {
            const bool joins_later = row.what == node_event::joins;
            known = conditions_.emplace(*target, joins_later ? condition::away : condition::works).first;
            if (joins_later) push(beginning_of(*input_), cluster_change::stops, *target);
        }
        const auto step = std::ranges::find_if(transitions, [&](const transition& candidate) {
            return candidate.what == row.what && candidate.from == known->second;
        });
        if (step == transitions.end()) return unexpected(out_of_turn(row, known->second));
        // What leaves is neither broken nor drained when it joins again.
        if (step->what == node_event::leaves) {
            const bool broken = known->second == condition::broken || known->second == condition::broken_and_drained;
            const bool drained = known->second == condition::draining || known->second == condition::broken_and_drained;
            for (const bool reason : {broken, drained}) {
                if (reason) push(row.time, cluster_change::resumes, *target);
            }
        }
        known->second = step->to;
        push(row.time, step->change, *target);
        return {};
    }

private:
    void push(ticks time, cluster_change what, const event_target& target) {
        input_->cluster_events.push_back({.time = time, .what = what, .node = target.node, .device = target.device});
    }

    [[nodiscard]] error problem(const cluster_event_row& row, const char* column, error_code code, std::string value,
                                std::string expectation) const {
        return bad_value(code, column, value, std::move(expectation)).at(*source_ + ":" + std::to_string(row.line));
    }

    expected<void> add_crash(const cluster_event_row& row) {
        if (pods_.empty()) {
            for (std::size_t i = 0; i < input_->pods.size(); ++i) {
                pods_.emplace(input_->name_of(input_->pods[i]), static_cast<std::uint32_t>(i));
            }
        }
        const auto pod = pods_.find(row.pod);
        if (pod == pods_.end()) {
            return unexpected(problem(row, "pod", error_code::unknown_name, row.pod, "a pod of the pod list"));
        }
        input_->crashes.push_back({.time = row.time, .pod = pod->second});
        return {};
    }

    [[nodiscard]] error out_of_turn(const cluster_event_row& row, condition now) const {
        std::string possible;
        for (const transition& step : transitions) {
            const bool is_of_nodes = step.what == node_event::leaves || step.what == node_event::joins;
            if (step.from != now || (is_of_nodes && !row.device.empty())) continue;
            possible += (possible.empty() ? "" : ", ") + std::string{to_string(step.what)};
        }
        const std::string what =
            row.device.empty() ? "node " + row.node : "device " + row.device + " of node " + row.node;
        return problem(row, "what", error_code::mismatch, std::string{to_string(row.what)},
                       "one of " + possible + ": " + what + " " +
                           std::string{condition_words[static_cast<std::size_t>(now)]} + " at that time");
    }

    [[nodiscard]] expected<event_target> target_of(const cluster_event_row& row) const {
        const auto node = nodes_.find(row.node);
        if (node == nodes_.end()) {
            return unexpected(problem(row, "node", error_code::unknown_name, row.node, "a node of the node list"));
        }
        event_target target{.node = node->second, .device = std::nullopt};
        if (row.device.empty()) return target;
        const auto& devices = input_->nodes.nodes[target.node.at()].devices;
        const auto named = std::ranges::find(devices, row.device, &vgpualloc::device::uuid);
        std::size_t index = static_cast<std::size_t>(named - devices.begin());
        if (named == devices.end()) {
            const auto [end, failure] =
                std::from_chars(row.device.data(), row.device.data() + row.device.size(), index);
            if (failure != std::errc{} || end != row.device.data() + row.device.size() || index >= devices.size()) {
                return unexpected(
                    problem(row, "device", error_code::unknown_name, row.device,
                            "a uuid of node " + row.node + ", or an index below " + std::to_string(devices.size())));
            }
        }
        target.device = device_index{index};
        return target;
    }

    simulation_input* input_;
    const std::string* source_;
    std::map<std::string_view, node_index> nodes_;
    std::unordered_map<std::string, std::uint32_t> pods_; ///< filled when the first one crashes; never walked
    std::map<event_target, condition> conditions_;        ///< of what an event has named
};

void sort_events(simulation_input& input) { std::ranges::stable_sort(input.cluster_events, {}, &cluster_event::time); }

/// Draws the failures of one node or device.
class failure_source {
public:
    failure_source(simulation_input& input, ticks begin, ticks end) : input_{&input}, begin_{begin}, end_{end} {}

    /// False if that makes too many events.
    bool draw(const vgputraces::failure_rates& rates, const event_target& target, vgpualloc::rng stream) {
        constexpr std::size_t events_max = 20'000'000;
        ticks now = begin_;
        while (true) {
            now += time_of(stream, rates.mtbf_s);
            if (now >= end_) return true;
            input_->cluster_events.push_back(
                {.time = now, .what = cluster_change::stops, .node = target.node, .device = target.device});
            now += time_of(stream, rates.mttr_s);
            input_->cluster_events.push_back(
                {.time = now, .what = cluster_change::resumes, .node = target.node, .device = target.device});
            if (input_->cluster_events.size() > events_max) return false;
        }
    }

private:
    /// At least a tick, so that every round gets on.
    static ticks time_of(vgpualloc::rng& stream, double mean_s) {
        const double exact = stream.exponential() * mean_s * static_cast<double>(ticks_per_second.count()) + 0.5;
        return ticks{std::max<std::int64_t>(1, static_cast<std::int64_t>(exact))};
    }

    simulation_input* input_;
    ticks begin_;
    ticks end_;
};

} // namespace

ticks beginning_of(const simulation_input& input) {
    return input.pods.empty() ? ticks{0} : std::min(ticks{0}, input.pods.front().arrival);
}

expected<void> add_cluster_events(simulation_input& input, std::span<const cluster_event_row> rows,
                                  const std::string& source) {
    event_adder adder{input, source};
    for (const cluster_event_row& row : rows) {
        if (auto added = adder.add(row); !added) return added;
    }
    sort_events(input);
    std::ranges::stable_sort(input.crashes, {}, &pod_crash::time);
    return {};
}

expected<void> add_failures(simulation_input& input, const vgputraces::failure_model& model, std::uint64_t seed) {
    std::set<event_target> named;
    for (const cluster_event& known : input.cluster_events) named.insert({.node = known.node, .device = known.device});
    const ticks begin = beginning_of(input);
    const ticks last = input.pods.empty() ? begin : input.pods.back().arrival;
    failure_source source{input, begin, model.horizon ? begin + *model.horizon : last};
    const vgpualloc::rng root{seed};
    const auto draw = [&](const std::optional<vgputraces::failure_rates>& rates, const event_target& target,
                          const std::string& purpose) {
        return named.contains(target) || !rates || source.draw(*rates, target, root.fork(purpose));
    };
    bool fits = true;
    for (std::size_t n = 0; n < input.nodes.nodes.size() && fits; ++n) {
        const auto& node = input.nodes.nodes[n];
        fits = draw(model.nodes, {.node = node_index{n}, .device = std::nullopt}, "failures of node " + node.name);
        for (std::size_t d = 0; d < node.devices.size() && fits; ++d) {
            fits = draw(model.devices, {.node = node_index{n}, .device = device_index{d}},
                        "failures of device " + std::to_string(d) + " of node " + node.name);
        }
    }
    if (!fits) {
        return unexpected(bad_value(error_code::out_of_range, "failures", "",
                                    "means and a horizon that give no more than 20000000 events"));
    }
    sort_events(input);
    return {};
}

expected<void> load_cluster_events(const run_config& config, input_reader& from, simulation_input& input) {
    if (!config.events.empty()) {
        const auto text = from.read(config.events, vgpuformats::list_bytes_max);
        if (!text) return unexpected(text.error());
        const auto rows = vgputraces::read_cluster_events(text->text, text->name);
        if (!rows) return unexpected(rows.error());
        if (auto added = add_cluster_events(input, *rows, text->name); !added) return added;
    }
    if (auto added = load_autoscaler(config, from, input); !added) return added;
    if (config.failures.empty()) return {};
    const auto text = from.read(config.failures);
    if (!text) return unexpected(text.error());
    const auto model = vgputraces::read_failure_model(text->text, text->name);
    if (!model) return unexpected(model.error());
    auto added = add_failures(input, *model, static_cast<std::uint64_t>(config.seed));
    if (!added) added.error().where = text->name;
    return added;
}

} // namespace vgpusim
