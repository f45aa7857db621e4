// First fit decreasing with the rules of the cluster: modes, hosts, tags.
#include "first_fit_packing.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "room_options.hpp"
#include "vgpualloc/model/requested_amount.hpp"

namespace vgpualloc::plan {

namespace {

double size_of(const requested_amount& amount, pod_size by) {
    const gpus_asked_for gpus = gpus_of(amount);
    switch (by) {
    case pod_size::larger_share:
        break;
    case pod_size::sum_of_shares:
        return gpus.memory + gpus.compute;
    case pod_size::memory:
        return gpus.memory;
    case pod_size::compute:
        return gpus.compute;
    }
    return gpus.larger();
}

class packer {
public:
    packer(board& on, const std::vector<device_unit>& units, const packing_order& order)
        : on_{&on}, units_{&units}, order_{order} {}

    std::optional<final_places> pack() {
        std::vector<std::uint32_t> pods;
        for (std::uint32_t pod = 0; pod < on_->pods().size(); ++pod) {
            if (on_->pod(pod).movable && !on_->pod(pod).where->shares.empty()) pods.push_back(pod);
        }
        sort(pods);
        for (const std::uint32_t pod : pods) on_->lift(pod);
        shut_all_but_units();
        std::vector<std::uint32_t> moving;
        for (const std::uint32_t pod : pods) {
            if (!stay(pod)) moving.push_back(pod);
        }
        for (const std::uint32_t pod : moving) {
            if (!place(pod)) return std::nullopt;
        }
        final_places finals;
        for (const std::uint32_t pod : pods) finals.emplace(pod, *on_->pod(pod).where);
        return finals;
    }

private:
    /// The largest first, pods of several devices before all.
    void sort(std::vector<std::uint32_t>& pods) {
        requested_amounts requested_of{on_->book().nodes()};
        std::map<std::uint32_t, double> sizes; // by request
        for (const std::uint32_t pod : pods) {
            const std::uint32_t request = on_->pod(pod).request;
            if (!sizes.contains(request)) {
                sizes.emplace(request, size_of(requested_of.of(*on_->request_of(pod).asked), order_.size));
            }
        }
        std::ranges::stable_sort(pods, [&](std::uint32_t a, std::uint32_t b) {
            const auto key = [&](std::uint32_t pod) {
                return std::pair{on_->request_of(pod).simple ? 1 : 0, -sizes.at(on_->pod(pod).request)};
            };
            return key(a) < key(b);
        });
    }

    void shut_all_but_units() {
        std::vector<bool> wanted(on_->device_count(), false);
        keeps_.assign(on_->device_count(), false);
        for (std::size_t u = 0; u < units_->size(); ++u) {
            for (std::size_t place = (*units_)[u].first; place < (*units_)[u].end; ++place) {
                wanted[place] = true;
                keeps_[place] = u < order_.units_kept;
            }
        }
        for (std::size_t place = 0; place < wanted.size(); ++place) {
            if (!wanted[place]) on_->shut(place);
        }
    }

    bool stay(std::uint32_t pod) {
        const placement& from = *on_->pod(pod).from;
        for (const device_share& share : from.shares) {
            if (!keeps_[on_->first_of(from.node) + share.device.at()]) return false;
        }
        if (!on_->fits(pod, from)) return false;
        put(pod, from);
        return true;
    }

    /// Devices only fill up, so a request that a unit has no room for finds none there later.
    bool place(std::uint32_t pod) {
        std::size_t& unit = first_with_room_[on_->pod(pod).request];
        for (; unit < units_->size(); ++unit) {
            if (!on_->step()) return false;
            const auto where = on_->request_of(pod).simple ? device_of(pod, (*units_)[unit])
                                                           : devices_of(pod, on_->node_of((*units_)[unit].first));
            if (!where) continue;
            put(pod, *where);
            return true;
        }
        return false;
    }

    [[nodiscard]] std::optional<placement> device_of(std::uint32_t pod, const device_unit& unit) {
        std::optional<placement> best;
        milli_gpu used_by_best;
        for (std::size_t place = unit.first; place < unit.end; ++place) {
            if (on_->is_shut(place)) continue;
            const device_spec& spec = on_->spec_of(place);
            const milli_gpu used = spec.mode->used(spec, on_->state_of(place));
            if (best && used <= used_by_best) continue;
            const device_request& container = on_->request_of(pod).asked->containers.front();
            if (spec.mode->why_not(spec, on_->state_of(place), container).code != rejection_code::none) continue;
            auto where = free_place_on(*on_, pod, place);
            if (!where) continue;
            best = std::move(where);
            used_by_best = used;
            if (!order_.fullest_device) break;
        }
        return best;
    }

    [[nodiscard]] std::optional<placement> devices_of(std::uint32_t pod, node_index where) {
        std::vector<room_option> options;
        append_options(*on_, pod, where, 0, options);
        if (options.empty()) return std::nullopt;
        return options.front().where;
    }

    void put(std::uint32_t pod, const placement& where) {
        places_.push_back(where);
        on_->put(pod, &places_.back());
    }

    board* on_;
    const std::vector<device_unit>* units_;
    packing_order order_;
    std::vector<bool> keeps_;                              ///< by place: its unit keeps the pods that it has
    std::map<std::uint32_t, std::size_t> first_with_room_; ///< by request: position in units_
    std::deque<placement> places_;                         ///< stay where they are while the pods are there
};

} // namespace

std::optional<final_places> pack_first_fit(board& on, const std::vector<device_unit>& units,
                                           const packing_order& order) {
    return packer{on, units, order}.pack();
}

} // namespace vgpualloc::plan
