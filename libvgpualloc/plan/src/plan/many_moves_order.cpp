// The order of many moves: greedily, with spare places for pods that stand in the way.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "move_order.hpp"
#include "room_options.hpp"

namespace vgpualloc::plan {

namespace {

class many_moves {
public:
    many_moves(board& start, const final_places& finals, std::int64_t hops_max)
        : on_{&start}, finals_{&finals}, hops_left_{hops_max} {
        for (const auto& [pod, where] : finals) {
            nodes_in_the_end_.insert(where.node.at());
            if (!is_there(pod)) waiting_.push_back(pod);
        }
        // The largest first: it finds a place least easily.
        const auto size = [this](std::uint32_t pod) {
            milli_gpu sum;
            const placement& where = *on_->pod(pod).where;
            for (const device_share& share : where.shares) {
                const device_spec& spec = on_->spec_of(on_->first_of(where.node) + share.device.at());
                sum += spec.mode->used(spec, spec.mode->with(spec, {}, share.part));
            }
            return sum;
        };
        std::ranges::stable_sort(waiting_, std::ranges::greater{}, size);
    }

    std::optional<std::vector<pod_move>> find() {
        while (!waiting_.empty()) {
            if (!move_all_that_can() && !make_way()) return std::nullopt;
        }
        return std::move(moves_);
    }

private:
    static constexpr int hops_of_a_pod_max = 3;

    [[nodiscard]] bool is_there(std::uint32_t pod) const { return *on_->pod(pod).where == finals_->at(pod); }

    /// A pod in its final place is in hardly anybody's way, so whoever can go there does. Whether any did.
    bool move_all_that_can() {
        std::vector<std::uint32_t> left;
        for (const std::uint32_t pod : waiting_) {
            if (is_there(pod)) continue; // its spare place was that one
            if (on_->step() && on_->fits(pod, finals_->at(pod))) {
                go(pod, finals_->at(pod));
            } else {
                left.push_back(pod);
            }
        }
        const bool any = left.size() < waiting_.size();
        waiting_ = std::move(left);
        return any;
    }

    /// Brings some pod to its final place by moving others out of the way. False if that is possible for none.
    bool make_way() {
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const std::uint32_t pod = waiting_[i];
            const placement& target = finals_->at(pod);
            const std::size_t moves_before = moves_.size();
            for (const std::uint32_t other : in_the_way(pod)) {
                if (on_->steps_left < 0 || hops_left_ == 0) return false;
                if (!hop(other, target) || !on_->fits(pod, target)) continue;
                waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
                go(pod, target);
                return true;
            }
            while (moves_.size() > moves_before) undo_hop();
        }
        return false;
    }

    /// Pods on the devices of the final place, and then others of its node where that lacks host CPU or memory: first
    /// those that have to go elsewhere anyhow, then the pod itself, which needs room for both of its places, and then
    /// those that are in their final places (a full device may refuse whom it takes earlier).
    [[nodiscard]] std::vector<std::uint32_t> in_the_way(std::uint32_t pod) const {
        const placement& target = finals_->at(pod);
        std::vector<std::uint32_t> waiting;
        std::vector<std::uint32_t> there;
        const auto add = [&](std::uint32_t other) {
            if (other == pod || !finals_->contains(other) || hops_of(other) == hops_of_a_pod_max) return;
            auto& others = is_there(other) ? there : waiting;
            if (std::ranges::find(others, other) == others.end()) others.push_back(other);
        };
        for (const device_share& share : target.shares) {
            for (const std::uint32_t other : on_->residents(on_->first_of(target.node) + share.device.at())) add(other);
        }
        if (!on_->host_holds(pod, target.node)) {
            for (const std::uint32_t other : on_->pods_on(target.node)) add(other);
        }
        const bool is_near = on_->pod(pod).where->node == target.node;
        if (is_near && hops_of(pod) < hops_of_a_pod_max) waiting.push_back(pod);
        waiting.insert(waiting.end(), there.begin(), there.end());
        return waiting;
    }

    [[nodiscard]] int hops_of(std::uint32_t pod) const {
        const auto at = hops_.find(pod);
        return at == hops_.end() ? 0 : at->second;
    }

    /// To a place that is free now and not on devices of `target`: one on a node on which no pod will be in the end, or
    /// else any.
    bool hop(std::uint32_t pod, const placement& target) {
        const std::int64_t cost = moves_of_hop(pod);
        if (hops_left_ < cost) return false;
        const placement* const origin = on_->pod(pod).where;
        std::vector<std::size_t> closed;
        for (const placement* const place : {origin, &target}) {
            for (const device_share& share : place->shares) {
                closed.push_back(on_->first_of(place->node) + share.device.at());
                on_->shut(closed.back());
            }
        }
        std::optional<placement> spare;
        static_cast<void>(for_each_free_place(*on_, pod, [&](const placement& where) {
            const bool is_left = !nodes_in_the_end_.contains(where.node.at());
            if (!spare || is_left) spare = where;
            return !is_left;
        }));
        for (const std::size_t place : closed) on_->open(place);
        if (!spare) return false;
        if (is_there(pod)) waiting_.push_back(pod);
        hops_left_ -= cost;
        ++hops_[pod];
        go(pod, *spare);
        return true;
    }

    /// A pod that has arrived comes back.
    [[nodiscard]] std::int64_t moves_of_hop(std::uint32_t pod) const { return is_there(pod) ? 2 : 1; }

    void undo_hop() {
        const auto [pod, origin] = undo_.back();
        on_->undo_put(pod);
        on_->undo_lift(pod, origin);
        undo_.pop_back();
        moves_.pop_back();
        places_.pop_back();
        hops_left_ += moves_of_hop(pod);
        --hops_[pod];
        if (is_there(pod)) waiting_.erase(std::ranges::find(waiting_, pod));
    }

    void go(std::uint32_t pod, const placement& to) {
        places_.push_back(to);
        moves_.push_back({.pod = on_->pod(pod).id.pod(), .from = *on_->pod(pod).where, .to = to});
        undo_.push_back({.pod = pod, .origin = on_->pod(pod).where});
        on_->lift(pod);
        on_->put(pod, &places_.back());
    }

    struct undo_entry {
        std::uint32_t pod = 0;
        const placement* origin = nullptr;
    };

    board* on_;
    const final_places* finals_;
    std::int64_t hops_left_;
    std::vector<std::uint32_t> waiting_; ///< for their final places
    std::map<std::uint32_t, int> hops_;  ///< through spare places, by pod
    std::set<std::size_t> nodes_in_the_end_;
    std::vector<pod_move> moves_;
    std::vector<undo_entry> undo_; ///< by move
    std::deque<placement> places_; ///< stay where they are
};

} // namespace

std::optional<std::vector<pod_move>> order_many_moves(board& start, const final_places& finals, std::int64_t hops_max) {
    return many_moves{start, finals, hops_max}.find();
}

} // namespace vgpualloc::plan
