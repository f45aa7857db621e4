// Replaying a workload.
#include "vgpusim/study/run.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "run_prices.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/verify/placements.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/discipline/autoscaler.hpp"
#include "vgpusim/engine/volcano_placer.hpp"
#include "vgpusim/outputs/rows.hpp"
#include "vgpusim/workload/cluster_events.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgpusim/workload/offered_load.hpp"

namespace vgpusim {

namespace {

/// The ledger as it was when the most was allocated, made again from its log and the nodes as they were at first.
std::unique_ptr<vgpualloc::ledger> ledger_at_peak(const vgpualloc::cluster& start, const vgpualloc::ledger& book,
                                                  const allocation_peak& peak) {
    vgpualloc::ledger_log log = book.log();
    VGA_ASSERT(book.first_event() == 0, "nothing is dropped from the log of a run");
    log.events = log.events.first(static_cast<std::size_t>(peak.events));
    auto rebuilt = vgpualloc::ledger::rebuild(start, log);
    VGA_ASSERT(rebuilt.has_value(), "a run's ledger can be made again from its log");
    return std::make_unique<vgpualloc::ledger>(*std::move(rebuilt));
}

void count_fault_domains(run_record& record) {
    const vgpualloc::ledger& book = record.shown_ledger();
    const vgpualloc::cluster& cluster = book.nodes();
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
        const auto states = book.devices(node_index{i});
        for (std::size_t d = 0; d < states.size(); ++d) {
            record.fault_domains.count(cluster.kinds[cluster.nodes[i].devices[d].kind], states[d]);
        }
    }
}

void count_rows(run_record& record, const simulation_input& input) {
    const outcome_rows rows{record, input};
    outcome_row row;
    const std::size_t first_measured = input.measured ? input.measured->first_pod : 0;
    record.accepted.whole = input.requested.whole();
    for (std::size_t i = 0; i < rows.count(); ++i) {
        rows.read(i, row);
        if (row.ran_before) {
            ++record.rows.ran_before;
            if (row.end) ++record.rows.ran_before_ended;
            continue;
        }
        if (i >= first_measured) {
            requested_units units;
            for (const std::uint32_t pod : row.pods) units += input.requested[input.pods[pod].request];
            record.accepted.count(units.larger(), row.placed, row.wait().value_or(ticks{}));
        }
        ++record.rows.arrived;
        if (row.placed) {
            ++record.rows.placed;
        } else {
            ++(row.given_up ? record.rows.failed : record.rows.waiting);
            ++record.code_count[static_cast<std::size_t>(row.reason)];
        }
        if (row.end) ++record.rows.finished;
        const auto wait = row.wait();
        if (!wait) continue;
        ++record.rows.started;
        record.rows.waited_ticks += wait->count();
    }
}

void count_end_state(run_record& record, const simulation_input& input, const vgpualloc::cluster& start,
                     vgpualloc::allocator& alloc, gauges& state) {
    const auto& nodes = record.ledger->nodes().nodes;
    state.forget_ids(); // the last decision may have given them anew
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto view = alloc.view_of(node_index{i});
        const auto buckets = state.buckets(view);
        for (std::size_t b = 0; b < buckets.milli.size(); ++b) record.buckets.milli[b] += buckets.milli[b];
        record.gpus += static_cast<std::int64_t>(nodes[i].devices.size());
    }
    record.stranded_last = state.stranded;
    record.total_milli = record.gpus * whole_gpu.count();
    record.last = {.time = {},
                   .arrived_milli = 0,
                   .allocated_milli = state.allocated_milli,
                   .served = {},
                   .unusable_micro = state.unusable_micro,
                   .used_nodes = state.used_nodes,
                   .used_gpus = state.used_gpus,
                   .devices = state.devices};
    record.code_count.assign(vgpualloc::rejection_code_count, 0);
    record.requested_whole = input.requested.whole();
    wide_requested_units arrived;
    requested_units served;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const std::uint32_t request = input.pods[i].request;
        if (i >= input.running.size()) arrived += input.requested[request];
        if (!record.ledger->is_live(pod_id{i})) continue;
        served += input.requested.served(request);
        ++record.last.running;
    }
    record.last.arrived_milli = input.requested.milli(arrived.larger());
    const std::int64_t units = record.gpus * record.requested_whole;
    record.last.served = {.memory = std::min(served.memory, units), .compute = std::min(served.compute, units)};
    count_rows(record, input);
    if (!input.pods.empty()) {
        record.first_arrival = input.pods.front().arrival;
        record.last_arrival = input.pods.back().arrival;
    }
    record.pods_leave =
        std::ranges::any_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });
    if (record.pods_leave) record.at_peak = ledger_at_peak(start, *record.ledger, record.result.peak);
    count_fault_domains(record);
}

/// The mean pod of the workload decides why idle devices are of no use.
vgpualloc::idle_parts idle_to(const simulation_input& input, const vgpualloc::ledger& book) {
    std::vector<vgpualloc::counted_request> requests;
    requests.reserve(input.requests.size());
    for (const pod_request& request : input.requests) requests.push_back({.request = request, .pods = 0});
    for (const arriving_pod& pod : input.pods) ++requests[pod.request].pods;
    return vgpualloc::idle_splitter{book}.mean_over(requests);
}

/// What the cluster's devices have and draw.
void count_devices(run_record& record, const simulation_input& input,
                   const std::vector<std::optional<power_draw>>& power) {
    const vgpualloc::cluster& cluster = record.ledger->nodes();
    for (const auto& node : cluster.nodes) {
        for (const auto& device : node.devices) {
            if (input.has_device_memory) record.memory_total_mib += cluster.kinds[device.kind].memory.count();
            if (const auto& draw = power[device.kind]) {
                record.idle_watts += draw->idle;
                record.busy_watts += draw->busy;
            } else {
                ++record.gpus_of_unknown_power;
            }
        }
    }
}

/// A row takes memory; a run that would make more of them than anyone can read is refused before it starts.
expected<void> check_rows(const run_config& config, const simulation_input& input) {
    constexpr std::int64_t rows_max = 20'000'000;
    if (config.sample_interval_s == 0 || input.pods.empty()) return {};
    ticks end;
    for (const arriving_pod& pod : input.pods) {
        end = std::max(end, pod.arrival + pod.duration.value_or(ticks{0}));
    }
    const std::int64_t span = (end - input.pods.front().arrival).count() / ticks_per_second.count();
    if (span / config.sample_interval_s < rows_max) return {};
    return unexpected(bad_value(error_code::out_of_range, "sample_interval_s", std::to_string(config.sample_interval_s),
                                "at least " + std::to_string(span / rows_max + 1) + ", because the trace spans " +
                                    std::to_string(span) + " s"));
}

/// Jobs that wait may run one after the other. Where that passes what ticks can count, times would begin again from
/// the lowest of all. Failures and drains make nothing longer than that: after the last of them all that is left runs.
expected<void> check_times(const run_config& config, const simulation_input& input, const discipline& rules) {
    constexpr double ticks_max = 4.0e18; // of 9.2e18, so that estimates can be added
    if (!rules.keeps_waiting() || input.pods.empty()) return {};
    const auto duration_of = [&](std::size_t pod) { return input.pods[pod].duration.value_or(ticks{}); };
    ticks last = input.pods.back().arrival;
    if (!input.cluster_events.empty()) last = std::max(last, input.cluster_events.back().time);
    const std::size_t jobs = input.jobs.empty() ? input.pods.size() : input.jobs.size();
    auto end = static_cast<double>(last.count()) +
               static_cast<double>(jobs) * static_cast<double>(config.layout_change_s) * 1e6;
    for (std::size_t i = 0; i < jobs; ++i) {
        ticks longest;
        if (input.jobs.empty()) {
            longest = duration_of(i);
        } else {
            const auto members = std::span{input.members}.subspan(input.jobs[i].first, input.jobs[i].pods);
            for (const std::uint32_t pod : members) longest = std::max(longest, duration_of(pod));
        }
        end += static_cast<double>(longest.count());
    }
    if (end <= ticks_max) return {};
    return unexpected(bad_value(error_code::out_of_range, "discipline", config.discipline,
                                fmt::format("jobs that end within {:.0f} s where they wait for each other, and "
                                            "one after the other these end after {:.0f} s",
                                            ticks_max / 1e6, end / 1e6)));
}

/// The names of the disciplines that plan no starts ahead.
std::string that_only_try() {
    std::string names;
    for (const discipline_entry& entry : all_disciplines) {
        if (entry.only_tries) names += (names.empty() ? "" : ", ") + std::string{entry.name};
    }
    return names;
}

/// Why a run cannot be decided by the model of Volcano.
expected<void> check_volcano_run(const run_config& config, const simulation_input& input,
                                 const vgpualloc::cluster& nodes, const discipline_entry* rules) {
    if (auto checked = check_volcano(input, nodes); !checked) return checked;
    const auto refuse = [](const char* field, const std::string& value, std::string expectation) {
        return unexpected(bad_value(error_code::unsupported, field, value, std::move(expectation)));
    };
    if (!input.running.empty()) {
        return refuse("start", config.start, "none with policy compat:volcano, which keeps its own record of who runs");
    }
    if (!config.device_policy.empty()) {
        return refuse("device_policy", config.device_policy, "none with policy compat:volcano, which chooses devices");
    }
    if (input.objects->scheduler && input.objects->scheduler->own) {
        return refuse("scheduler_config", config.scheduler_config,
                      "one with plugin deviceshare with policy compat:volcano, which models that plugin; this one has "
                      "vgpualloc");
    }
    if (input.autoscaler) {
        return refuse("autoscaler", config.autoscaler, "none with policy compat:volcano, which alone knows what fits");
    }
    if (rules != nullptr && rules->only_tries) return {};
    return refuse("discipline", config.discipline, "one of " + that_only_try() + " with policy compat:volcano");
}

/// Why pods cannot be moved in a run.
expected<void> check_moves(const run_config& config, const discipline_entry* rules) {
    const auto refuse = [&](std::string expectation) {
        return unexpected(bad_value(error_code::unsupported, "defragment", find_setting("defragment")->get(config),
                                    std::move(expectation)));
    };
    if (config.policy == volcano_policy) return refuse("never with policy compat:volcano, which moves nothing");
    if (rules != nullptr && rules->only_tries) return {};
    return refuse("never with a discipline other than " + that_only_try() + ", which plan no starts ahead");
}

move_rules move_rules_of(const run_config& config, move_planner* planner) {
    const bool is_periodic = config.defragment == defragment::periodic;
    return {.planner = planner,
            .interval = is_periodic ? config.defragment_every_s * ticks_per_second : ticks{0},
            .per_accepted = config.defragment_share,
            .downtime = config.move_downtime_s * ticks_per_second,
            .copy_per_gib = config.move_copy_s_per_gib * ticks_per_second};
}

/// The policies of a run, brought or named.
expected<vgpualloc::owned_policies> policies_for(const run_config& config, const run_parts& parts, bool is_volcano,
                                                 const vgpualloc::policy_parameters& parameters,
                                                 const vgpualloc::cluster& nodes) {
    if (parts.make_policies) return parts.make_policies(parameters, nodes);
    // Where Volcano decides, the allocator shows the state of nodes, which every policy does alike.
    return vgpualloc::make_policies(is_volcano ? "binpack" : config.policy, config.device_policy, parameters);
}

/// Checks what can be checked before anything is made. The discipline is one that the caller brings where `entry` is
/// null.
expected<std::unique_ptr<discipline>> checked_discipline(const run_config& config, const simulation_input& input,
                                                         const vgpualloc::cluster& nodes, const run_parts& parts,
                                                         const discipline_entry* entry) {
    if (const auto checked = check_rows(config, input); !checked) return unexpected(checked.error());
    if (entry != nullptr && entry->check != nullptr) {
        if (const auto checked = entry->check(input, nodes); !checked) return unexpected(checked.error());
    }
    auto rules = entry == nullptr ? parts.make_discipline() : entry->make();
    if (const auto checked = check_times(config, input, *rules); !checked) return unexpected(checked.error());
    return rules;
}

} // namespace

/// Everything that lives as long as a run.
struct started_run::parts_of_run {
    const loaded_input* loaded = nullptr;
    bool is_counted = true;
    bool splits_idle = true; ///< why what is idle is of no use
    run_prices prices{};
    std::shared_ptr<vgpualloc::fragmentation_model> fragmentation{};
    vgpualloc::owned_policies policies{};
    std::unique_ptr<discipline> rules{};
    std::optional<vgpualloc::cluster> start{}; ///< the nodes as they were, where they change
    run_record record{};
    std::optional<vgpualloc::allocator> alloc{};
    std::unique_ptr<placer> decides{};
    std::unique_ptr<move_planner> mover{};
    std::optional<simulation> sim{};
};

started_run::started_run(std::unique_ptr<parts_of_run> parts) : parts_{std::move(parts)} {}
started_run::~started_run() = default;

simulation& started_run::loop() noexcept { return *parts_->sim; }

expected<std::unique_ptr<started_run>> started_run::begin(const run_config& config, const loaded_input& loaded,
                                                          vgpualloc::cluster nodes, const run_parts& parts) {
    const simulation_input& input = loaded.input;
    const discipline_entry* entry = nullptr;
    if (!parts.make_discipline) {
        const auto listed = find_discipline(config.discipline);
        if (!listed) return unexpected(listed.error());
        entry = *listed;
    }
    auto rules = checked_discipline(config, input, nodes, parts, entry);
    if (!rules) return unexpected(std::move(rules).error());
    const bool is_volcano = !parts.make_policies && config.policy == volcano_policy;
    if (is_volcano) {
        if (const auto checked = check_volcano_run(config, input, nodes, entry); !checked) {
            return unexpected(checked.error());
        }
    }
    auto run = std::make_unique<parts_of_run>();
    run->loaded = &loaded;
    run->rules = *std::move(rules);
    run->fragmentation = std::make_shared<vgpualloc::fragmentation_model>(input.typical);
    run_record& record = run->record;
    record.config = config;
    // Where nothing happens to nodes and devices, those of the ledger stay as they are. Moves close devices to others.
    const bool changes = !input.cluster_events.empty() || input.autoscaler || config.defragment != defragment::never;
    run->is_counted = parts.kept != kept_of_run::pods;
    run->splits_idle = parts.kept == kept_of_run::everything;
    if (changes && run->is_counted) run->start = nodes;
    record.ledger = std::make_unique<vgpualloc::ledger>(std::move(nodes));
    auto policies =
        policies_for(config, parts, is_volcano,
                     {.target = input.typical,
                      .seed = static_cast<std::uint64_t>(config.seed),
                      .fragmentation = run->fragmentation,
                      .prices = run->prices.book(),
                      .prices_are_known = prices_from(config) != prices_online,
                      .learned = loaded.prices ? std::make_shared<vgpualloc::learned_prices>(*loaded.prices) : nullptr},
                     record.ledger->nodes());
    if (!policies) return unexpected(std::move(policies).error());
    run->policies = *std::move(policies);
    record.ledger->expect_pods(input.pods.size());
    run->alloc.emplace(*record.ledger, run->policies.pair(),
                       vgpualloc::allocator_options{.requests_max = input.requests.size() + 1});
    if (input.autoscaler) run->rules = std::make_unique<autoscaler>(std::move(run->rules), *input.autoscaler);
    if (const auto begun = run->prices.begin(config, loaded, record.ledger->nodes(), parts.stop); !begun) {
        return unexpected(begun.error());
    }
    const auto power = power_of_kinds(record.ledger->nodes(), loaded.power);
    count_devices(record, input, power);
    if (is_volcano) run->decides = std::make_unique<volcano_placer>(input, *record.ledger);
    if (config.defragment != defragment::never) {
        if (const auto checked = check_moves(config, entry); !checked) return unexpected(checked.error());
        run->mover = planner_for(*run->policies.node, config.defragment_moves_max, parts.stop);
    }
    run->sim.emplace(input, *record.ledger, *run->alloc, *run->rules, run->fragmentation,
                     simulation_options{.kept = parts.kept,
                                        .sample_interval = config.sample_interval_s * ticks_per_second,
                                        .on_failure = config.after_failure,
                                        .layout_change = config.layout_change_s * ticks_per_second,
                                        .power = power,
                                        .decides = run->decides.get(),
                                        .listens = run->prices.listener(),
                                        .moves = move_rules_of(config, run->mover.get()),
                                        .stop = parts.stop});
    return std::unique_ptr<started_run>{new started_run{std::move(run)}};
}

expected<run_record> started_run::end(simulation_result result) {
    if (result.stopped) return unexpected(stop_signal::stopped());
    const simulation_input& input = parts_->loaded->input;
    run_record& record = parts_->record;
    record.result = std::move(result);
    auto learned = parts_->prices.at_end(*parts_->policies.node);
    if (!learned) return unexpected(std::move(learned.error()));
    record.prices = *std::move(learned);
    record.has_queue = parts_->rules->keeps_waiting();
    if (!parts_->is_counted) return std::move(record);
    count_end_state(record, input, parts_->start ? *parts_->start : record.ledger->nodes(), *parts_->alloc,
                    parts_->sim->state());
    if (parts_->splits_idle) record.idle = idle_to(input, record.shown_ledger());
    record.offered_load = offered_load_of(input, milli_gpu{record.total_milli});
#if VGA_VERIFY_ENABLED
    const auto broken = vgpualloc::verify::first_violation(*record.ledger);
    VGA_ASSERT(broken.empty(), "the independent checker agrees with the ledger");
#endif
    return std::move(record);
}

expected<run_record> replay(const run_config& config, const loaded_input& loaded, vgpualloc::cluster nodes,
                            const simulation::progress& tell, const run_parts& parts) {
    auto run = started_run::begin(config, loaded, std::move(nodes), parts);
    if (!run) return unexpected(std::move(run).error());
    return (*run)->end((*run)->loop().run(tell));
}

} // namespace vgpusim
