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

double packing_size(const request_measure& request, pod_size by) {
    switch (by) {
    case pod_size::larger_share:
        break;
    case pod_size::sum_of_shares:
        return request.memory + request.compute;
    case pod_size::memory:
        return request.memory;
    case pod_size::compute:
        return request.compute;
    case pod_size::host_cpu:
        return request.host_cpu;
    }
    return std::max(request.memory, request.compute);
}

std::int64_t rank_of(const request_measure& request, pods_first by) {
    switch (by) {
    case pods_first::none:
        break;
    case pods_first::of_several_devices:
        return -request.devices;
    case pods_first::with_few_nodes:
        return request.nodes;
    }
    return 0;
}

class packer {
public:
    packer(board& on, const std::vector<device_unit>& units, const packing_order& order,
           const std::vector<request_measure>& measures)
        : on_{&on}, units_{units}, order_{order}, measures_{&measures}, unit_of_(on.device_count(), units.size()) {
        for (std::size_t u = 0; u < units_.size(); ++u) number_unit(u);
    }

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
    /// The largest first.
    void sort(std::vector<std::uint32_t>& pods) const {
        std::ranges::stable_sort(pods, {}, [this](std::uint32_t pod) {
            const request_measure& request = (*measures_)[on_->pod(pod).request];
            return std::pair{rank_of(request, order_.first), -packing_size(request, order_.size)};
        });
    }

    void shut_all_but_units() {
        std::vector<bool> wanted(on_->device_count(), false);
        keeps_.assign(on_->device_count(), false);
        for (std::size_t u = 0; u < units_.size(); ++u) {
            for (std::size_t place = units_[u].first; place < units_[u].end; ++place) {
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
        for (; unit < units_.size(); ++unit) {
            if (!on_->step()) return false;
            auto where = devices_of(pod, unit);
            if (!where) continue;
            if (order_.at_home && goes_home(pod, unit)) {
                if (auto home = devices_of(pod, unit)) where = std::move(home);
            }
            put(pod, *where);
            return true;
        }
        return false;
    }

    /// Lets the unit that the pod is on change places with an empty one that is like it, if it comes later and is empty
    /// too: that saves moves, and pods that wait for each other.
    bool goes_home(std::uint32_t pod, std::size_t unit) {
        const placement& from = *on_->pod(pod).from;
        const std::size_t home = unit_of_[on_->first_of(from.node) + from.shares[0].device.at()];
        if (home == units_.size() || home <= unit || !are_alike(units_[home], units_[unit])) return false;
        std::swap(units_[home], units_[unit]);
        if (!devices_of(pod, unit)) {
            std::swap(units_[home], units_[unit]);
            return false;
        }
        number_unit(home);
        number_unit(unit);
        return true;
    }

    void number_unit(std::size_t unit) {
        for (std::size_t place = units_[unit].first; place < units_[unit].end; ++place) unit_of_[place] = unit;
    }

    /// Both without pods, and with the same devices and host.
    [[nodiscard]] bool are_alike(const device_unit& a, const device_unit& b) const {
        if (a.end - a.first != b.end - b.first) return false;
        for (std::size_t i = 0; i < a.end - a.first; ++i) {
            const bool is_same = &on_->spec_of(a.first + i) == &on_->spec_of(b.first + i) &&
                                 on_->state_of(a.first + i) == on_->state_of(b.first + i) &&
                                 on_->is_shut(a.first + i) == on_->is_shut(b.first + i);
            const bool is_used = !on_->residents(a.first + i).empty() || !on_->residents(b.first + i).empty();
            if (!is_same || is_used) return false;
        }
        const node_index host_a = on_->node_of(a.first);
        const node_index host_b = on_->node_of(b.first);
        const auto& nodes = on_->book().nodes().nodes;
        return nodes[host_a.at()].cpu == nodes[host_b.at()].cpu &&
               nodes[host_a.at()].memory == nodes[host_b.at()].memory &&
               nodes[host_a.at()].pods_max == nodes[host_b.at()].pods_max &&
               on_->host_of(host_a) == on_->host_of(host_b);
    }

    /// A pod of several devices may also get some of other units, if units are devices.
    [[nodiscard]] std::optional<placement> devices_of(std::uint32_t pod, std::size_t unit) {
        const node_index where = on_->node_of(units_[unit].first);
        if (!on_->allows(pod, where) || !on_->host_holds(pod, where)) return std::nullopt;
        const bool is_of_one = (*measures_)[on_->pod(pod).request].devices == 1;
        const std::size_t end = is_of_one ? units_[unit].end : on_->end_of(where);
        std::vector<std::size_t> places;
        for (std::size_t place = is_of_one ? units_[unit].first : on_->first_of(where); place < end; ++place) {
            if (!on_->is_shut(place)) places.push_back(place);
        }
        if (order_.choice != device_choice::first) {
            std::ranges::stable_sort(places, std::ranges::greater{}, [this](std::size_t place) {
                const device_state& state = on_->state_of(place);
                return order_.choice == device_choice::most_memory_used
                           ? state.memory.count()
                           : on_->spec_of(place).mode->used(on_->spec_of(place), state).count();
            });
        }
        auto result = free_place_of_devices(*on_, pod, where, places);
        if (result) keep_devices(pod, *result);
        return result;
    }

    /// Of devices that are alike the pod gets those that it has.
    void keep_devices(std::uint32_t pod, placement& where) const {
        const placement& from = *on_->pod(pod).from;
        const auto& containers = on_->request_of(pod).asked->containers;
        if (from.node != where.node || containers.size() != 1) return;
        const auto is_among = [](device_index device, const placement& those) {
            return std::ranges::find(those.shares, device, &device_share::device) != those.shares.end();
        };
        const std::size_t first = on_->first_of(where.node);
        for (device_share& share : where.shares) {
            if (is_among(share.device, from)) continue;
            const std::size_t place = first + share.device.at();
            for (const device_share& old : from.shares) {
                const std::size_t home = first + old.device.at();
                if (is_among(old.device, where) || &on_->spec_of(home) != &on_->spec_of(place)) continue;
                if (on_->state_of(home) != on_->state_of(place)) continue;
                if (!on_->admits(pod, containers.front(), home)) continue;
                share.device = old.device;
                break;
            }
        }
        if (std::ranges::is_permutation(where.shares, from.shares)) where = from;
    }

    void put(std::uint32_t pod, const placement& where) {
        places_.push_back(where);
        on_->put(pod, &places_.back());
    }

    board* on_;
    std::vector<device_unit> units_;
    packing_order order_;
    const std::vector<request_measure>* measures_;
    std::vector<std::size_t> unit_of_;                     ///< by place: position in units_, their count where in none
    std::vector<bool> keeps_;                              ///< by place: its unit keeps the pods that it has
    std::map<std::uint32_t, std::size_t> first_with_room_; ///< by request: position in units_
    std::deque<placement> places_;                         ///< stay where they are while the pods are there
};

} // namespace

std::vector<request_measure> measure_requests(board& on) {
    requested_amounts requested_of{on.book().nodes()};
    std::vector<request_measure> result;
    for (std::uint32_t pod = 0; pod < on.pods().size(); ++pod) {
        const std::uint32_t number = on.pod(pod).request;
        if (!on.pod(pod).movable) continue;
        if (number >= result.size()) result.resize(number + 1);
        request_measure& measure = result[number];
        if (measure.devices > 0) continue;
        const pod_request& asked = *on.request_of(pod).asked;
        for (const device_request& container : asked.containers) measure.devices += container.count;
        if (measure.devices == 0) continue;
        const gpus_taken gpus = gpus_of(requested_of.of(asked));
        measure.memory = gpus.memory;
        measure.compute = gpus.compute;
        measure.host_cpu = static_cast<double>(asked.cpu.count());
        for (std::size_t n = 0; n < on.node_count(); ++n) {
            if (!on.step()) return result;
            measure.nodes += on.allows(pod, node_index{n}) ? 1 : 0;
        }
    }
    return result;
}

std::optional<final_places> pack_first_fit(board& on, const std::vector<device_unit>& units, const packing_order& order,
                                           const std::vector<request_measure>& measures) {
    return packer{on, units, order, measures}.pack();
}

} // namespace vgpualloc::plan
