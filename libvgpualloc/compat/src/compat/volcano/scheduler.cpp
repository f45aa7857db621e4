// Cache, sessions and the choice of a node.
#include "vgpualloc/compat/volcano/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compat/volcano/ascend_hami.hpp"
#include "vgpualloc/compat/volcano/gpushare.hpp"

namespace vgpualloc::compat::volcano {

namespace {

ledger_state state_of(const std::vector<std::unique_ptr<device_object>>& objects) {
    return objects.empty() ? ledger_state{} : objects.front()->state();
}

/// What the device ledgers know of such a pod: nothing; only what it takes of the node's idle resources counts.
pod without_annotations(pod bound) {
    bound.annotations.clear();
    return bound;
}

} // namespace

scheduler::scheduler(device_config config, plugin_options options)
    : config_{std::move(config)}, options_{std::move(options)}, exclusive_{make_exclusive_memory()} {}

scheduler::~scheduler() = default;

scheduler::objects scheduler::make_objects(const managed_node& where) const {
    objects result;
    const auto add = [&result](std::unique_ptr<device_object> object) {
        if (object) result.push_back(std::move(object));
    };
    if (options_.gpushare_memory || options_.gpushare_number) add(make_gpushare(where.what, options_));
    if (options_.vgpu) add(make_vgpu(where.what, config_, options_, exclusive_));
    if (options_.ascend_mindcluster) add(make_mindcluster_310p(where.what, where.info, options_));
    if (options_.ascend_hami) {
        for (const vnpu_kind& kind : config_.vnpus) add(make_ascend_hami(where.what, kind, config_, options_));
    }
    return result;
}

void scheduler::add_node(node where, npu_node_info info) {
    auto managed = std::make_unique<managed_node>();
    managed->what = std::move(where);
    managed->info = std::move(info);
    managed->cache = make_objects(*managed);
    nodes_.push_back(std::move(managed));
}

void scheduler::open_session() {
    for (const auto& managed : nodes_) {
        std::vector<const pod*> on_node;
        for (const pod& bound : managed->pods) on_node.push_back(&bound);
        managed->session.clear();
        for (const auto& object : managed->cache) {
            managed->session.push_back(object->copy());
            managed->session.back()->open_session(managed->what, on_node);
        }
    }
}

node_answer scheduler::ask(managed_node& where, const pod& pending) {
    node_answer answer;
    for (const auto& object : where.session) {
        if (!object->requested_by(pending)) continue;
        answer.requested = true;
        answer.verdict = object->filter(pending, options_.policy);
        if (!answer.verdict.fits) return answer;
    }
    if (!answer.requested || options_.weight <= 0) return answer;
    for (const auto& object : where.session) {
        if (object->requested_by(pending)) answer.raw += object->score(pending, options_.policy);
    }
    answer.rounded = static_cast<std::int64_t>(std::floor(answer.raw + 0.5));
    answer.weighted = answer.rounded * options_.weight;
    return answer;
}

/// 310P is scored over all nodes at once, and its score is not rounded before it is weighted.
void scheduler::score_in_batch(const pod& pending, std::vector<node_answer>& answers) {
    std::vector<const mindcluster_object*> candidates;
    std::vector<node_answer*> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!answers[i].fits()) continue;
        for (const auto& object : nodes_[i]->session) {
            const auto* npu = dynamic_cast<const mindcluster_object*>(object.get());
            if (npu == nullptr || !npu->requested_by(pending)) continue;
            candidates.push_back(npu);
            places.push_back(&answers[i]);
        }
    }
    const std::vector<double> scores = batch_score(candidates, pending, options_);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        places[i]->raw += scores[i];
        places[i]->rounded += static_cast<std::int64_t>(std::floor(scores[i] + 0.5));
        places[i]->weighted += static_cast<std::int64_t>(scores[i] * static_cast<double>(options_.weight));
    }
}

allocate_answer scheduler::allocate(managed_node& where, const pod& pending) {
    allocate_answer result;
    result.ok = true;
    for (const auto& object : where.session) {
        if (!object->requested_by(pending)) continue;
        allocate_answer answer = object->allocate(pending, options_.policy);
        if (!answer.ok) return answer;
        result.annotations.merge(answer.annotations);
        std::ranges::move(answer.containers, std::back_inserter(result.containers));
        std::ranges::move(answer.chips, std::back_inserter(result.chips));
        std::ranges::move(answer.more_chips, std::back_inserter(result.more_chips));
        if (result.template_name.empty()) result.template_name = std::move(answer.template_name);
    }
    return result;
}

void scheduler::unallocate(managed_node& where, const pod& pending) {
    for (const auto& object : where.session) {
        if (object->requested_by(pending)) object->unallocate(pending);
    }
}

attempt scheduler::try_in_session(const pod& pending, bool roll_back) {
    attempt result;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool is_candidate = admitted_.empty() || admitted_[i];
        result.nodes.push_back(is_candidate ? ask(*nodes_[i], pending) : node_answer{});
    }
    if (options_.ascend_mindcluster) score_in_batch(pending, result.nodes);
    for (std::size_t i = 0; i < result.nodes.size(); ++i) {
        if (!result.nodes[i].fits()) continue;
        if (!result.chosen || result.nodes[i].weighted > result.nodes[*result.chosen].weighted) result.chosen = i;
    }
    if (!result.chosen) return result;

    managed_node& winner = *nodes_[*result.chosen];
    result.allocated = allocate(winner, pending);
    if (!result.allocated->ok || roll_back) unallocate(winner, pending);
    return result;
}

attempt scheduler::schedule(const pod& pending, bool roll_back, const kubernetes::text_map& bind_annotations) {
    attempt result = try_in_session(pending, roll_back);
    if (!result.allocated || !result.allocated->ok || roll_back) return result;
    kubernetes::text_map annotations = result.allocated->annotations;
    for (const auto& [key, value] : bind_annotations) annotations[key] = value;
    bind(pending, annotations, *result.chosen);
    result.bound = true;
    return result;
}

void scheduler::bind(const pod& pending, const kubernetes::text_map& annotations, std::size_t where) {
    pod bound = pending;
    for (const auto& [key, value] : annotations) bound.annotations[key] = value;
    if (!holding_ || !options_.quirks.has(quirk::q21)) return restore(std::move(bound), where);
    // Q21: the cache has the pod at once, its annotations only from the informer.
    restore(pending, where);
    late_.push_back({.bound = std::move(bound), .where = where});
}

void scheduler::deliver_updates() {
    holding_ = false;
    for (late_update& update : std::exchange(late_, {})) {
        const std::string uid = update.bound.uid;
        const bool ends = nodes_[update.where]->terminating.contains(uid);
        if (!remove(uid)) continue;
        restore(std::move(update.bound), update.where);
        if (ends) terminate(uid);
    }
}

void scheduler::restore(pod bound, std::size_t where) {
    managed_node& managed = *nodes_[where];
    for (const auto& object : managed.cache) object->add_resource(bound);
    managed.pods.push_back(std::move(bound));
}

std::optional<std::size_t> scheduler::remove(const std::string& uid) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto& pods = nodes_[i]->pods;
        const auto bound = std::ranges::find(pods, uid, &pod::uid);
        if (bound == pods.end()) continue;
        // A terminating pod has left the device ledgers already.
        const pod known = nodes_[i]->terminating.erase(uid) == 0 ? *bound : without_annotations(*bound);
        for (const auto& object : nodes_[i]->cache) object->sub_resource(known);
        pods.erase(bound);
        return i;
    }
    return std::nullopt;
}

void scheduler::update_node(std::size_t where) {
    if (!options_.quirks.has(quirk::q8)) return;
    managed_node& changed = *nodes_[where];
    changed.cache = make_objects(changed);
    for (const pod& bound : changed.pods) {
        const pod known = changed.terminating.contains(bound.uid) ? without_annotations(bound) : bound;
        for (const auto& object : changed.cache) object->add_resource(known);
    }
}

bool scheduler::terminate(const std::string& uid) {
    for (const auto& managed : nodes_) {
        const auto bound = std::ranges::find(managed->pods, uid, &pod::uid);
        if (bound == managed->pods.end()) continue;
        if (!options_.quirks.has(quirk::q9) || !managed->terminating.insert(uid).second) return true;
        for (const auto& object : managed->cache) {
            object->sub_resource(*bound);
            object->add_resource(without_annotations(*bound));
        }
        return true;
    }
    return false;
}

ledger_state scheduler::session_state(std::size_t where) const { return state_of(nodes_[where]->session); }
ledger_state scheduler::cache_state(std::size_t where) const { return state_of(nodes_[where]->cache); }

ledger_state scheduler::cache_state_with(const pod& bound, std::size_t where) const {
    std::vector<std::unique_ptr<device_object>> copies;
    for (const auto& object : nodes_[where]->cache) {
        copies.push_back(object->copy());
        copies.back()->add_resource(bound);
    }
    return state_of(copies);
}

} // namespace vgpualloc::compat::volcano
