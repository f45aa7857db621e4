// Applying decision logs to a cluster, and comparing.
#include "vgpuops/decisions/follow.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpuformats/some_names.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace vgpuops::decisions {

using vgpualloc::live_cluster;
using vgpualloc::live_pod_state;
using vgpualloc::node_opinion;

namespace {

constexpr const char* nothing = "(none)";
constexpr const char* node_wanted = "a node that the log told of and that is still there";

std::string_view state_name(live_pod_state state) {
    constexpr std::array<std::string_view, 5> names{"unknown", "waiting", "reserved", "committed", "suspended"};
    return names[static_cast<std::size_t>(state)];
}

const std::string& name_of(const live_cluster& cluster, node_index where) {
    return cluster.book().nodes().nodes[where.at()].name;
}

/// How many of the candidates are as good as the best one; 0 if the pod fits on none.
std::int64_t equally_good(const std::vector<node_opinion>& opinions, const std::vector<node_index>& candidates) {
    const node_opinion* best = nullptr;
    std::int64_t count = 0;
    for (const node_index where : candidates) {
        const node_opinion& opinion = opinions[where.at()];
        if (!opinion.fits()) continue;
        const bool is_equal = best != nullptr && opinion.compromise == best->compromise && opinion.score == best->score;
        const bool is_better = best == nullptr || opinion.compromise < best->compromise ||
                               (opinion.compromise == best->compromise && opinion.score > best->score);
        if (is_equal) ++count;
        if (!is_better) continue;
        best = &opinion;
        count = 1;
    }
    return count;
}

/// "insufficient_device_memory 12, no_free_instance 1".
std::string words_of(const std::map<std::string, std::int64_t>& reasons) {
    const auto counted = [](const auto& entry) { return fmt::format("{} {}", entry.first, entry.second); };
    return reasons.empty() ? nothing : vgpuformats::joined(reasons, counted);
}

error unknown(const log_event& event, const char* field, const std::string& value, const char* wanted) {
    return bad_value(error_code::unknown_name, field, value, wanted).at(event.place);
}

} // namespace

std::string_view to_string(difference_kind kind) noexcept {
    constexpr std::array<std::string_view, 5> names{"node", "annotations", "refused", "state", "learned"};
    return names[static_cast<std::size_t>(kind)];
}

expected<vgpualloc::live_options> options_of(const log_event& event, const option_changes& changes) {
    vgpualloc::live_option_texts texts = event.options;
    vgpualloc::live_option_names names{.catalog = event.place + ": options.catalog",
                                       .device_config = event.place + ": options.device_config",
                                       .scheduler_config = event.place + ": options.scheduler_config"};
    if (changes.texts.policy) texts.policy = changes.texts.policy;
    if (changes.texts.device_policy) texts.device_policy = changes.texts.device_policy;
    if (changes.texts.catalog) {
        texts.catalog = changes.texts.catalog;
        names.catalog = changes.names.catalog;
    }
    if (changes.texts.device_config) {
        texts.device_config = changes.texts.device_config;
        names.device_config = changes.names.device_config;
    }
    if (changes.texts.scheduler_config) {
        texts.scheduler_config = changes.texts.scheduler_config;
        names.scheduler_config = changes.names.scheduler_config;
        const auto scheduler = vgpualloc::read_scheduler_config(*texts.scheduler_config, names.scheduler_config,
                                                                vgpualloc::all_policies());
        if (!scheduler) return unexpected(scheduler.error());
        if (scheduler->own) { // it says of the policies all that there is to say, but for the command line
            texts.policy = changes.texts.policy;
            texts.device_policy = changes.texts.device_policy;
        }
    }
    return read_live_options(texts, names, vgpualloc::all_policies());
}

error policy_error(error failure, const log_event& event, const option_changes& changes) {
    const bool is_device = failure.field == "device_policy";
    if (is_device ? changes.texts.device_policy : changes.texts.policy) {
        failure.where = is_device ? "--device-policy" : "--policy";
        failure.field.clear();
    } else {
        failure.where = event.place;
        failure.field = is_device ? "options.device_policy" : "options.policy";
    }
    return failure;
}

std::vector<node_index> candidates_of(const vgpualloc::ledger& book, const candidate_rule& rule) {
    std::vector<node_index> candidates;
    const auto& nodes = book.nodes().nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (book.is_present(node_index{n}) && rule.admits(nodes[n].name)) candidates.emplace_back(n);
    }
    return candidates;
}

expected<void> follower::apply(const log_event& event) {
    ++figures_.events;
    switch (event.kind) {
    case event_kind::start:
    case event_kind::configure:
        return configure(event);
    case event_kind::tell:
        for (const auto& object : event.told) cluster_->upsert(object);
        return {};
    case event_kind::remove_node:
        cluster_->remove_node(event.name); // false for an event that came twice or late, which is no matter here
        return {};
    case event_kind::remove_config_map:
        cluster_->remove_config_map(event.name);
        return {};
    case event_kind::remove_pod:
        cluster_->remove_pod(event.uid);
        return {};
    case event_kind::learn:
        if (!cluster_->learn_workload()) differ(event, difference_kind::learned, "learned", "nothing new");
        return {};
    default:
        return apply_to_pod(event);
    }
}

expected<void> follower::configure(const log_event& event) {
    auto options = options_of(event, {});
    if (!options) return unexpected(std::move(options).error());
    if (event.kind == event_kind::configure) {
        auto configured = cluster_->configure(*std::move(options));
        if (!configured) return unexpected(policy_error(std::move(configured).error(), event, {}));
        return {};
    }
    ++figures_.starts;
    auto cluster = live_cluster::make(*std::move(options));
    if (!cluster) return unexpected(policy_error(std::move(cluster).error(), event, {}));
    cluster_ = *std::move(cluster);
    return {};
}

expected<void> follower::apply_to_pod(const log_event& event) {
    if (cluster_->state_of(event.uid) == live_pod_state::unknown) {
        return unexpected(unknown(event, "uid", event.uid, "a pod that the log told of and that is still there"));
    }
    for (const auto& [member, names] :
         {std::pair{"only", &event.candidates.only}, std::pair{"except", &event.candidates.except}}) {
        for (const std::string& name : *names) {
            if (!cluster_->find_node(name).valid()) return unexpected(unknown(event, member, name, node_wanted));
        }
    }
    if (event.kind == event_kind::decide) return decide(event);
    if (event.kind == event_kind::refuse) {
        refuse(event);
    } else {
        call(event);
    }
    return {};
}

difference& follower::differ(const log_event& event, difference_kind kind, std::string logged, std::string replayed) {
    return differences_.emplace_back(difference{.line = event.line,
                                                .pod = event.uid.empty() ? "" : cluster_->full_name_of(event.uid),
                                                .kind = kind,
                                                .logged = std::move(logged),
                                                .replayed = std::move(replayed)});
}

bool follower::expect_state(const log_event& event, live_pod_state state) {
    const live_pod_state present = cluster_->state_of(event.uid);
    if (present == state) return true;
    differ(event, difference_kind::state, std::string{state_name(state)}, std::string{state_name(present)});
    return false;
}

expected<void> follower::decide(const log_event& event) {
    ++figures_.decisions;
    const node_index logged = cluster_->find_node(event.node);
    if (!logged.valid()) {
        return unexpected(unknown(event, "node", event.node, node_wanted));
    }
    if (!expect_state(event, live_pod_state::waiting)) return {};
    const auto candidates = candidates_of(cluster_->book(), event.candidates);
    const auto opinions = cluster_->evaluate(event.uid, false);
    const auto chosen = cluster_->choose(event.uid, candidates);
    if (equally_good(*opinions, candidates) > 1) ++figures_.ties;
    const bool is_same = *chosen && **chosen == logged;
    std::string replayed = *chosen ? name_of(*cluster_, **chosen) : nothing;
    const node_opinion reserved = cluster_->reserve(event.uid, logged);
    if (!reserved.fits()) replayed += fmt::format("; {}: {}", event.node, to_string(reserved.refusal.code));
    if (!is_same || !reserved.fits()) differ(event, difference_kind::node, event.node, std::move(replayed));
    if (!reserved.fits()) return {};
    count(event);
    compare_annotations(event);
    return {};
}

/// Counts what a pod was given.
void follower::count(const log_event& event) {
    const auto pod = cluster_->view().pod(cluster_->full_name_of(event.uid));
    const vgpualloc::placement& where = cluster_->booking_of(event.uid)->where;
    if (where.shares.empty()) {
        ++figures_.without_devices;
        return;
    }
    ++figures_.dialects[pod->dialect];
    for (const auto& share : where.shares) {
        const auto& spec = cluster_->book().nodes().spec_of(where.node, share.device);
        ++figures_.modes[std::string{spec.mode->name()}];
        ++figures_.models[spec.model];
    }
}

void follower::compare_annotations(const log_event& event) {
    const auto annotations = cluster_->annotations_of(event.uid, event.time);
    if (!annotations) {
        differ(event, difference_kind::annotations, fmt::format("{} texts", event.annotations.size()),
               annotations.error().message());
        return;
    }
    std::set<std::string> keys;
    for (const auto& [key, text] : event.annotations) keys.insert(key);
    for (const auto& [key, text] : *annotations) keys.insert(key);
    for (const std::string& key : keys) {
        const auto logged = event.annotations.find(key);
        const auto replayed = annotations->find(key);
        const bool both = logged != event.annotations.end() && replayed != annotations->end();
        if (both && logged->second == replayed->second) continue;
        differ(event, difference_kind::annotations, logged == event.annotations.end() ? nothing : logged->second,
               replayed == annotations->end() ? nothing : replayed->second)
            .annotation = key;
    }
}

void follower::refuse(const log_event& event) {
    ++figures_.refusals;
    if (!expect_state(event, live_pod_state::waiting)) return;
    const auto opinions = cluster_->evaluate(event.uid, true); // as a scheduler asks that tells amounts
    std::string fitting;
    std::map<std::string, std::int64_t> reasons;
    for (std::size_t n = 0; n < opinions->size(); ++n) {
        if (!cluster_->book().is_present(node_index{n})) continue;
        const node_opinion& opinion = (*opinions)[n];
        const std::string& name = name_of(*cluster_, node_index{n});
        if (!opinion.fits()) {
            ++reasons[std::string{to_string(opinion.refusal.code)}];
        } else if (fitting.empty() && event.candidates.admits(name)) {
            fitting = name;
        }
    }
    // A pod that no scheduler can serve is not asked of nodes.
    if (cluster_->failure_of(event.uid)) reasons.clear();
    if (!fitting.empty()) {
        differ(event, difference_kind::refused, words_of(event.reasons), "fits on " + fitting);
    } else if (reasons != event.reasons) {
        differ(event, difference_kind::refused, words_of(event.reasons), words_of(reasons));
    }
}

/// The calls of one pod.
void follower::call(const log_event& event) {
    vgpualloc::rejection_detail done;
    switch (event.kind) {
    case event_kind::commit:
        if (expect_state(event, live_pod_state::reserved)) done = cluster_->commit(event.uid);
        break;
    case event_kind::rollback:
        if (expect_state(event, live_pod_state::reserved)) done = cluster_->rollback(event.uid);
        break;
    case event_kind::release:
        if (expect_state(event, live_pod_state::committed)) done = cluster_->release(event.uid);
        break;
    case event_kind::suspend:
        if (expect_state(event, live_pod_state::committed)) done = cluster_->suspend(event.uid);
        break;
    default:
        if (expect_state(event, live_pod_state::suspended)) done = cluster_->resume(event.uid);
    }
    if (done.code == rejection_code::none) return;
    differ(event, difference_kind::state, std::string{to_string(event.kind)}, std::string{to_string(done.code)});
}

} // namespace vgpuops::decisions
