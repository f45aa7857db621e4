// Running decision logs under other options.
#include "vgpuops/decisions/rerun.hpp"

#include <algorithm>
#include <tuple>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpuops::decisions {

using vgpualloc::live_cluster;
using vgpualloc::live_pod_state;

namespace {

std::string uid_of(const kube::manifest& object) {
    return object.pod->uid.empty() ? kube::full_name_of(object) : object.pod->uid;
}

bool has_something(live_pod_state state) {
    return state != live_pod_state::unknown && state != live_pod_state::waiting;
}

} // namespace

expected<void> rerun::apply(const log_event& event, const live_cluster& live) {
    time_ = std::max(time_, event.time);
    const bool is_attempt = event.kind == event_kind::decide || event.kind == event_kind::refuse;
    if (is_attempt) {
        are_all_told_ = true;
        try_waiting(live); // what waits since before a restart
    }
    switch (event.kind) {
    case event_kind::start:
    case event_kind::configure:
        if (auto configured = configure(event); !configured) return configured;
        break;
    case event_kind::tell:
        for (const kube::manifest& object : event.told) tell(object, live);
        break;
    case event_kind::remove_node:
        cluster_->remove_node(event.name);
        break;
    case event_kind::remove_config_map:
        freed_ = cluster_->remove_config_map(event.name) || freed_;
        break;
    case event_kind::remove_pod:
        freed_ = has_something(cluster_->state_of(event.uid)) || freed_;
        cluster_->remove_pod(event.uid);
        break;
    case event_kind::learn:
        cluster_->learn_workload();
        break;
    case event_kind::decide:
    case event_kind::refuse: {
        followed_pod& pod = follow(event);
        if (cluster_->state_of(event.uid) != live_pod_state::waiting) break;
        if (event.kind == event_kind::refuse && any_suspended(live)) {
            wait(event.uid, pod); // the live one keeps the suspended pods, so what they had is not to be had here
            freed_ = true;
        } else {
            attempt(event.uid, pod, live);
        }
        break;
    }
    default:
        call(event, live);
    }
    try_waiting(live);
    return {};
}

expected<void> rerun::configure(const log_event& event) {
    auto options = options_of(event, changes_);
    if (!options) return unexpected(std::move(options).error());
    if (event.kind == event_kind::configure) {
        auto configured = cluster_->configure(*std::move(options));
        if (!configured) return unexpected(policy_error(std::move(configured).error(), event, changes_));
        freed_ = true;
        return {};
    }
    auto cluster = live_cluster::make(*std::move(options));
    if (!cluster) return unexpected(policy_error(std::move(cluster).error(), event, changes_));
    cluster_ = *std::move(cluster);
    suspended_.clear();
    freed_ = true;
    are_all_told_ = false;
    return {};
}

// ---- objects

/// Whether a pod's object says where the live scheduler put it.
bool rerun::shows_decision(const kube::manifest& object, const followed_pod& pod) const {
    if (!kube::node_of(object, cluster_->view().dialects()).empty()) return true;
    return std::ranges::any_of(pod.live_annotations, [&object](const auto& entry) {
        const auto written = object.pod->annotations.find(entry.first);
        return written != object.pod->annotations.end() && written->second == entry.second;
    });
}

/// What the object of a pod that the live scheduler decided would say if this one had.
kube::manifest rerun::as_decided_here(const followed_pod& pod) {
    if (pod.fate.node.empty()) return *pod.undecided;
    kube::manifest object = *pod.decided;
    object.pod->annotations = pod.undecided->pod->annotations;
    for (const auto& [key, text] : pod.fate.annotations) object.pod->annotations[key] = text;
    if (!object.node_name.empty()) object.node_name = pod.fate.node;
    return object;
}

void rerun::tell(const kube::manifest& object, const live_cluster& live) {
    if (!object.pod) {
        freed_ = cluster_->upsert(object) == live_cluster::told::changed || freed_;
        return;
    }
    const std::string uid = uid_of(object);
    const bool had_something = has_something(cluster_->state_of(uid));
    const std::size_t bookings = cluster_->book().live_count();
    const auto known = pods_.find(uid);
    if (known == pods_.end() || kube::has_ended(object)) {
        cluster_->upsert(object);
        const bool is_gone = had_something && !has_something(cluster_->state_of(uid));
        // Another pod of that name may have gone with it.
        freed_ = freed_ || is_gone || cluster_->book().live_count() < bookings;
        if (known != pods_.end()) {
            known->second.undecided.reset();
            known->second.decided.reset();
        }
        return;
    }
    followed_pod& pod = known->second;
    if (!shows_decision(object, pod)) {
        pod.undecided = object;
        pod.decided.reset();
        cluster_->upsert(object);
        // What was reserved when the scheduler was restarted is lost, there and here.
        if (live.state_of(uid) == live_pod_state::waiting) pod.fate.live_node.clear();
        if (cluster_->state_of(uid) == live_pod_state::waiting) pod.fate.node.clear();
    } else if (!pod.undecided || (pod.fate.live_node.empty() && pod.fate.node.empty())) {
        stop_waiting(pod); // somebody else bound it
        cluster_->upsert(object);
    } else {
        pod.decided = object;
        cluster_->upsert(as_decided_here(pod));
        follow_commit(uid, live);
    }
    freed_ = freed_ || cluster_->book().live_count() < bookings;
}

// ---- pods

rerun::followed_pod& rerun::follow(const log_event& event) {
    const auto [entry, is_new] = pods_.try_emplace(event.uid);
    followed_pod& pod = entry->second;
    if (is_new) {
        order_.push_back(event.uid);
        pod.fate.uid = event.uid;
    }
    pod.fate.pod = cluster_->full_name_of(event.uid);
    if (!pod.undecided) {
        const kube::manifest* const object = cluster_->view().find_pod(pod.fate.pod);
        if (object != nullptr) pod.undecided = *object;
    }
    pod.candidates = event.candidates;
    if (event.kind == event_kind::decide) {
        pod.fate.live_node = event.node;
        pod.live_annotations = event.annotations;
    } else {
        pod.fate.live_waited = true;
    }
    return pod;
}

/// Places a pod that has nothing, or has it wait.
void rerun::attempt(const std::string& uid, followed_pod& pod, const live_cluster& live) {
    if (place(uid, pod, live)) {
        stop_waiting(pod);
    } else {
        wait(uid, pod);
    }
}

void rerun::wait(const std::string& uid, followed_pod& pod) {
    pod.fate.waited = true;
    pod.fate.node.clear(); // of a decision that was given back
    if (pod.turn != 0) return;
    pod.turn = next_turn_++;
    waiting_.emplace(pod.turn, uid);
}

bool rerun::place(const std::string& uid, followed_pod& pod, const live_cluster& live) {
    const auto chosen = cluster_->choose(uid, candidates_of(cluster_->book(), pod.candidates));
    if (!chosen || !*chosen || !cluster_->reserve(uid, **chosen).fits()) return false;
    auto annotations = cluster_->annotations_of(uid, time_);
    if (!annotations) { // a scheduler could not tell the node
        static_cast<void>(cluster_->rollback(uid));
        return false;
    }
    pod.fate.node = cluster_->book().nodes().nodes[(*chosen)->at()].name;
    pod.fate.annotations = *std::move(annotations);
    if (pod.decided) cluster_->upsert(as_decided_here(pod));
    follow_commit(uid, live);
    return true;
}

/// A pod that is bound cannot be rolled back, here as there.
void rerun::follow_commit(const std::string& uid, const live_cluster& live) {
    if (live.state_of(uid) != live_pod_state::committed) return;
    if (cluster_->state_of(uid) == live_pod_state::reserved) static_cast<void>(cluster_->commit(uid));
}

void rerun::stop_waiting(followed_pod& pod) {
    if (pod.turn == 0) return;
    waiting_.erase(pod.turn);
    pod.turn = 0;
}

/// Gives back what the pod has, however it has it.
void rerun::take_back(const std::string& uid) {
    const live_pod_state state = cluster_->state_of(uid);
    if (state == live_pod_state::suspended) static_cast<void>(cluster_->resume(uid));
    const bool is_reserved = state == live_pod_state::reserved;
    static_cast<void>(is_reserved ? cluster_->rollback(uid) : cluster_->release(uid));
    freed_ = freed_ || has_something(state);
}

void rerun::call(const log_event& event, const live_cluster& live) {
    const auto known = pods_.find(event.uid);
    switch (event.kind) {
    case event_kind::rollback:
    case event_kind::release:
        take_back(event.uid);
        if (known == pods_.end()) return;
        stop_waiting(known->second);
        if (event.kind == event_kind::release) return; // its object may say for a while what it had
        known->second.fate.live_node.clear();
        known->second.fate.node.clear();
        known->second.live_annotations.clear();
        known->second.decided.reset();
        return;
    case event_kind::suspend:
        if (cluster_->suspend(event.uid).code == rejection_code::none) suspended_.insert(event.uid);
        return;
    case event_kind::resume:
        static_cast<void>(cluster_->resume(event.uid)); // of a pod that waits here there is nothing to resume
        return;
    default:
        follow_commit(event.uid, live);
    }
}

// ---- what waits

/// Whether a pod is suspended. One that no longer is, there, is not here.
bool rerun::any_suspended(const live_cluster& live) {
    std::erase_if(suspended_, [&](const std::string& uid) {
        if (cluster_->state_of(uid) == live_pod_state::suspended) {
            if (live.state_of(uid) == live_pod_state::suspended) return false;
            static_cast<void>(cluster_->resume(uid)); // its node was told with other devices
        } else {
            freed_ = freed_ || cluster_->state_of(uid) == live_pod_state::unknown;
        }
        return true;
    });
    return !suspended_.empty();
}

void rerun::try_waiting(const live_cluster& live) {
    if (any_suspended(live) || !are_all_told_ || !freed_) return;
    freed_ = false;
    std::set<std::pair<vgpualloc::pod_request, candidate_rule>> refused; // nothing changes until one is placed
    const auto in_turn = waiting_;
    for (const auto& [turn, uid] : in_turn) {
        followed_pod& pod = pods_.at(uid);
        if (cluster_->state_of(uid) != live_pod_state::waiting) {
            stop_waiting(pod); // it is gone
            continue;
        }
        if (live.state_of(uid) == live_pod_state::suspended || cluster_->failure_of(uid)) continue;
        std::pair key{cluster_->view().pod(pod.fate.pod)->request, pod.candidates};
        if (refused.contains(key)) continue;
        if (place(uid, pod, live)) {
            stop_waiting(pod);
        } else {
            refused.insert(std::move(key));
        }
    }
}

std::vector<pod_fate> rerun::finish(const live_cluster& live) {
    are_all_told_ = true;
    try_waiting(live);
    std::vector<pod_fate> fates;
    for (const std::string& uid : order_) {
        followed_pod& pod = pods_.at(uid);
        pod.fate.waiting = pod.turn != 0 && cluster_->state_of(uid) == live_pod_state::waiting;
        pod.fate.live_waiting =
            pod.fate.live_node.empty() && pod.fate.live_waited && live.state_of(uid) == live_pod_state::waiting;
        fates.push_back(std::move(pod.fate));
    }
    return fates;
}

} // namespace vgpuops::decisions
