// What becomes of reservations on a living cluster, and trials of them.
#include <utility>

#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {

rejection_detail live_cluster::commit(std::string_view uid) {
    const auto done = view_.book().commit(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::rollback(std::string_view uid) {
    const auto done = view_.book().rollback(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::release(std::string_view uid) {
    const auto done = view_.book().release(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::suspend(std::string_view uid) {
    const booking* const held = booking_of(uid);
    if (held == nullptr) return {.code = rejection_code::pod_not_known};
    suspension kept{.held = *held, .node = book().nodes().nodes[held->where.node.at()].name};
    const rejection_detail released = release(uid);
    if (released.code == rejection_code::none) suspended_.insert_or_assign(*name_of(uid), std::move(kept));
    return released;
}

rejection_detail live_cluster::resume(std::string_view uid) {
    const std::string* const name = name_of(uid);
    const auto kept = name == nullptr ? suspended_.end() : suspended_.find(*name);
    if (kept == suspended_.end()) return {.code = rejection_code::pod_not_known};
    booking held = kept->second.held;
    held.where.node = find_node(kept->second.node);
    if (!held.where.node.valid()) return {.code = rejection_code::node_gone};
    const auto adopted = view_.book().adopt(std::move(held)); // it runs, whatever was given out meanwhile
    if (!adopted) return adopted.error();
    suspended_.erase(kept);
    return {};
}

// ---- trials

void live_cluster::begin_trial() {
    trials_.push_back({.scope = std::make_unique<trial>(view_.book()), .suspended = suspended_});
}

bool live_cluster::end_trial(bool keep) {
    if (trials_.empty()) return false;
    open_trial& innermost = trials_.back();
    if (keep) {
        innermost.scope->keep();
    } else {
        innermost.scope->undo();
        suspended_ = std::move(innermost.suspended);
    }
    trials_.pop_back();
    return true;
}

} // namespace vgpualloc
