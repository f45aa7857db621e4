// Depth first over which pod moves next.
#include "move_order.hpp"

#include <algorithm>
#include <deque>
#include <set>

#include "room_options.hpp"

namespace vgpualloc::plan {

namespace {

class orderer {
public:
    orderer(board& start, const final_places& finals) : on_{&start}, finals_{&finals} {
        for (const auto& [pod, where] : finals) {
            if (on_->pod(pod).from == nullptr) {
                blocked_ = pod;
            } else {
                waiting_.push_back(pod);
            }
        }
    }

    std::optional<std::vector<pod_move>> find(std::int64_t hops_max) {
        for (std::int64_t hops = 0; hops <= hops_max; ++hops) {
            if (finish(hops)) return moves_;
        }
        return std::nullopt;
    }

private:
    /// Moves all that wait, and with exactly `hops` more.
    bool finish(std::int64_t hops) {
        if (waiting_.empty()) {
            // Where all pods are in the end is the same in every order.
            hopeless_ = !blocked_fits();
            return hops == 0 && !hopeless_;
        }
        if (hopeless_ || !on_->step()) return false;
        const bool without_hops = hops == 0 && spares_.empty(); // who waits then says where everybody is
        if (without_hops && failed_.contains(waiting_)) return false;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const std::uint32_t pod = waiting_[i];
            const placement& target = finals_->at(pod);
            if (!on_->fits(pod, target)) continue;
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
            const bool done = go(pod, target, hops);
            waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(i), pod);
            if (done) return true;
        }
        if (without_hops) failed_.insert(waiting_);
        if (hops == 0) return false;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const std::uint32_t pod = waiting_[i];
            const bool none = for_each_free_place(*on_, pod, [&](const placement& spare) {
                if (spare == finals_->at(pod) || spare == *on_->pod(pod).where) return true;
                spares_.push_back(spare);
                const bool done = go(pod, spares_.back(), hops - 1);
                spares_.pop_back();
                return !done;
            });
            if (!none) return true;
        }
        return false;
    }

    bool go(std::uint32_t pod, const placement& target, std::int64_t hops) {
        const placement* const origin = on_->pod(pod).where;
        moves_.push_back({.pod = on_->pod(pod).id.pod(), .from = *origin, .to = target});
        on_->lift(pod);
        on_->put(pod, &target);
        const bool done = finish(hops);
        on_->undo_put(pod);
        on_->undo_lift(pod, origin);
        if (!done) moves_.pop_back();
        return done;
    }

    [[nodiscard]] bool blocked_fits() { return !blocked_ || on_->fits(*blocked_, finals_->at(*blocked_)); }

    board* on_;
    const final_places* finals_;
    std::optional<std::uint32_t> blocked_;
    std::vector<std::uint32_t> waiting_;
    std::vector<pod_move> moves_;
    bool hopeless_ = false;
    std::set<std::vector<std::uint32_t>> failed_; ///< that waited when no order was left
    std::deque<placement> spares_;                ///< stay where they are
};

} // namespace

std::optional<std::vector<pod_move>> order_moves(board& start, const final_places& finals, std::int64_t hops_max) {
    return orderer{start, finals}.find(hops_max);
}

} // namespace vgpualloc::plan
