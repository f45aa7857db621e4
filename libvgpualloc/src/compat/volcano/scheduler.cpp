// Cache, sessions and the choice of a node.
#include "vgpualloc/compat/volcano/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vgpualloc/compat/volcano/ascend_hami.hpp"
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
    objects made;
    const auto add = [&made](std::unique_ptr<device_object> object) {
        if (object) made.push_back(std::move(object));
    };
    if (options_.gpushare_memory || options_.gpushare_number) add(make_gpushare(where.what, options_));
    if (options_.vgpu) add(make_vgpu(where.what, config_, options_, exclusive_));
    if (options_.ascend_mindcluster) add(make_mindcluster_310p(where.what, where.info, options_));
    if (options_.ascend_hami) {
        for (const vnpu_kind& kind : config_.vnpus) add(make_ascend_hami(where.what, kind, config_, options_));
    }
    return made;
}

void scheduler::add_node(node where, npu_node_info info) {
    auto made = std::make_unique<managed_node>();
    made->what = std::move(where);
    made->info = std::move(info);
    made->cache = make_objects(*made);
    nodes_.push_back(std::move(made));
}

void scheduler::open_session() {
    for (const auto& each : nodes_) {
        std::vector<const pod*> on_node;
        for (const pod& bound : each->pods) on_node.push_back(&bound);
        each->session.clear();
        for (const auto& object : each->cache) {
            each->session.push_back(object->copy());
            each->session.back()->open_session(each->what, on_node);
        }
    }
}

node_answer scheduler::ask(managed_node& where, const pod& asked) {
    node_answer answer;
    for (const auto& object : where.session) {
        if (!object->requested_by(asked)) continue;
        answer.requested = true;
        answer.verdict = object->filter(asked, options_.policy);
        if (!answer.verdict.fits) return answer;
    }
    if (!answer.requested || options_.weight <= 0) return answer;
    for (const auto& object : where.session) {
        if (object->requested_by(asked)) answer.raw += object->score(asked, options_.policy);
    }
    answer.rounded = static_cast<std::int64_t>(std::floor(answer.raw + 0.5));
    answer.weighted = answer.rounded * options_.weight;
    return answer;
}

/// 310P is scored over all nodes at once, and its score is not rounded before it is weighted.
void scheduler::score_in_batch(const pod& asked, std::vector<node_answer>& answers) {
    std::vector<const mindcluster_object*> candidates;
    std::vector<node_answer*> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!answers[i].fits()) continue;
        for (const auto& object : nodes_[i]->session) {
            const auto* npu = dynamic_cast<const mindcluster_object*>(object.get());
            if (npu == nullptr || !npu->requested_by(asked)) continue;
            candidates.push_back(npu);
            places.push_back(&answers[i]);
        }
    }
    const std::vector<double> scores = batch_score(candidates, asked, options_);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        places[i]->raw += scores[i];
        places[i]->rounded += static_cast<std::int64_t>(std::floor(scores[i] + 0.5));
        places[i]->weighted += static_cast<std::int64_t>(scores[i] * static_cast<double>(options_.weight));
    }
}

allocate_answer scheduler::allocate(managed_node& where, const pod& asked) {
    allocate_answer all;
    all.ok = true;
    for (const auto& object : where.session) {
        if (!object->requested_by(asked)) continue;
        allocate_answer one = object->allocate(asked, options_.policy);
        if (!one.ok) return one;
        all.annotations.merge(one.annotations);
        std::ranges::move(one.containers, std::back_inserter(all.containers));
        std::ranges::move(one.chips, std::back_inserter(all.chips));
        if (all.template_name.empty()) all.template_name = std::move(one.template_name);
    }
    return all;
}

void scheduler::unallocate(managed_node& where, const pod& asked) {
    for (const auto& object : where.session) {
        if (object->requested_by(asked)) object->unallocate(asked);
    }
}

attempt scheduler::try_in_session(const pod& asked, bool roll_back) {
    attempt result;
    for (const auto& each : nodes_) result.nodes.push_back(ask(*each, asked));
    if (options_.ascend_mindcluster) score_in_batch(asked, result.nodes);
    for (std::size_t i = 0; i < result.nodes.size(); ++i) {
        if (!result.nodes[i].fits()) continue;
        if (!result.chosen || result.nodes[i].weighted > result.nodes[*result.chosen].weighted) result.chosen = i;
    }
    if (!result.chosen) return result;

    managed_node& winner = *nodes_[*result.chosen];
    result.allocated = allocate(winner, asked);
    if (!result.allocated->ok || roll_back) unallocate(winner, asked);
    return result;
}

void scheduler::take_in_session(const pod& bound, std::size_t where) {
    for (const auto& object : nodes_[where]->session) {
        if (object->requested_by(bound)) object->take(bound);
    }
}

scheduler::session_copy scheduler::copy_session() const {
    session_copy made;
    for (const auto& each : nodes_) {
        auto& copies = made.nodes.emplace_back();
        for (const auto& object : each->session) copies.push_back(object->copy());
    }
    return made;
}

void scheduler::set_session(session_copy saved) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->session = std::move(saved.nodes[i]);
}

attempt scheduler::schedule(const pod& asked, bool roll_back, const kubernetes::text_map& bind_annotations) {
    attempt result = try_in_session(asked, roll_back);
    if (!result.allocated || !result.allocated->ok || roll_back) return result;
    kubernetes::text_map annotations = result.allocated->annotations;
    for (const auto& [key, value] : bind_annotations) annotations[key] = value;
    bind(asked, annotations, *result.chosen);
    result.bound = true;
    return result;
}

void scheduler::bind(const pod& asked, const kubernetes::text_map& annotations, std::size_t where) {
    pod bound = asked;
    for (const auto& [key, value] : annotations) bound.annotations[key] = value;
    if (!holding_ || !options_.quirks.has(quirk::q21)) return restore(std::move(bound), where);
    // Q21: the cache has the pod at once, its annotations only from the informer.
    restore(asked, where);
    late_.push_back({.bound = std::move(bound), .where = where});
}

void scheduler::deliver_updates() {
    holding_ = false;
    for (late_update& each : std::exchange(late_, {})) {
        const std::string uid = each.bound.uid;
        const bool ends = nodes_[each.where]->terminating.contains(uid);
        if (!remove(uid)) continue;
        restore(std::move(each.bound), each.where);
        if (ends) terminate(uid);
    }
}

void scheduler::restore(pod bound, std::size_t where) {
    managed_node& on = *nodes_[where];
    for (const auto& object : on.cache) object->add_resource(bound);
    on.pods.push_back(std::move(bound));
}

std::optional<std::size_t> scheduler::remove(const std::string& uid) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto& pods = nodes_[i]->pods;
        const auto found = std::ranges::find(pods, uid, &pod::uid);
        if (found == pods.end()) continue;
        // A terminating pod has left the device ledgers already.
        const pod known = nodes_[i]->terminating.erase(uid) == 0 ? *found : without_annotations(*found);
        for (const auto& object : nodes_[i]->cache) object->sub_resource(known);
        pods.erase(found);
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
    for (const auto& each : nodes_) {
        const auto found = std::ranges::find(each->pods, uid, &pod::uid);
        if (found == each->pods.end()) continue;
        if (!options_.quirks.has(quirk::q9) || !each->terminating.insert(uid).second) return true;
        for (const auto& object : each->cache) {
            object->sub_resource(*found);
            object->add_resource(without_annotations(*found));
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
