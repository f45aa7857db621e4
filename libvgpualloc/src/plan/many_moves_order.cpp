// The order of many moves: greedily, with spare places for pods that stand in the way.
#include <algorithm>
#include <deque>
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
            if (*on_->pod(pod).where != where) waiting_.push_back(pod);
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
            if (move_all_that_can()) continue;
            if (!make_way()) return std::nullopt;
        }
        return std::move(moves_);
    }

private:
    /// A pod in its final place is in nobody's way, so whoever can go there does. Whether any did.
    bool move_all_that_can() {
        std::vector<std::uint32_t> left;
        for (const std::uint32_t pod : waiting_) {
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

    /// Makes the final place of some pod free. False if that is possible for none.
    bool make_way() {
        for (const std::uint32_t pod : waiting_) {
            const placement& target = finals_->at(pod);
            for (const std::uint32_t other : in_the_way(pod, target)) {
                if (on_->steps_left < 0 || hops_left_ == 0) return false;
                if (!hop(other)) continue;
                if (on_->fits(pod, target)) return true;
            }
        }
        return false;
    }

    /// Pods on the devices of a place, and then others of its node, that have not moved yet and are to go elsewhere.
    [[nodiscard]] std::vector<std::uint32_t> in_the_way(std::uint32_t pod, const placement& target) const {
        std::vector<std::uint32_t> others;
        const auto add = [&](std::uint32_t other) {
            const bool is_waiting = std::ranges::find(waiting_, other) != waiting_.end();
            if (other == pod || !is_waiting || hopped_.contains(other)) return;
            if (std::ranges::find(others, other) == others.end()) others.push_back(other);
        };
        for (const device_share& share : target.shares) {
            for (const std::uint32_t other : on_->residents(on_->first_of(target.node) + share.device.at())) add(other);
        }
        if (!on_->host_holds(pod, target.node)) {
            for (const std::uint32_t other : on_->pods_on(target.node)) add(other);
        }
        return others;
    }

    /// To a place that is free now: one on a node on which no pod will be in the end, or else any.
    bool hop(std::uint32_t pod) {
        const placement* const origin = on_->pod(pod).where;
        std::optional<placement> spare;
        static_cast<void>(for_each_free_place(*on_, pod, [&](const placement& where) {
            const bool is_left = !nodes_in_the_end().contains(where.node.at());
            if (where.node == origin->node && shares_device(where, *origin)) return true;
            if (!spare || is_left) spare = where;
            return !is_left;
        }));
        if (!spare) return false;
        --hops_left_;
        hopped_.insert(pod);
        go(pod, *spare);
        return true;
    }

    [[nodiscard]] static bool shares_device(const placement& a, const placement& b) {
        return std::ranges::any_of(a.shares, [&](const device_share& share) {
            return std::ranges::find(b.shares, share.device, &device_share::device) != b.shares.end();
        });
    }

    [[nodiscard]] const std::set<std::size_t>& nodes_in_the_end() {
        if (nodes_in_the_end_.empty()) {
            for (const auto& [pod, where] : *finals_) nodes_in_the_end_.insert(where.node.at());
        }
        return nodes_in_the_end_;
    }

    void go(std::uint32_t pod, const placement& to) {
        places_.push_back(to);
        moves_.push_back({.pod = on_->pod(pod).id, .from = *on_->pod(pod).where, .to = to});
        on_->lift(pod);
        on_->put(pod, &places_.back());
    }

    board* on_;
    const final_places* finals_;
    std::int64_t hops_left_;
    std::vector<std::uint32_t> waiting_; ///< for their final places
    std::set<std::uint32_t> hopped_;
    std::set<std::size_t> nodes_in_the_end_;
    std::vector<pod_move> moves_;
    std::deque<placement> places_; ///< stay where they are
};

} // namespace

std::optional<std::vector<pod_move>> order_many_moves(board& start, const final_places& finals, std::int64_t hops_max) {
    return many_moves{start, finals, hops_max}.find();
}

} // namespace vgpualloc::plan
