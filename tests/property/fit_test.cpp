// A pod that fits on a node in some way is not refused, whatever the policy: against trying everything.
#include <algorithm>
#include <numeric>

#include "alloc/reference.hpp"
#include "support.hpp"

namespace vgpualloc::property {
namespace {

/// Tries the containers in every order, on every device, with every part that the mode offers; shares no code with the
/// search of the allocator. Empty if there are too many ways.
class every_way {
public:
    every_way(const ledger& book, node_index where, const pod_request& request) : request_{&request} {
        const node& described = book.nodes().nodes[where.at()];
        for (std::size_t d = 0; d < described.devices.size(); ++d) {
            devices_.push_back({.spec = &book.nodes().kinds[described.devices[d].kind],
                                .state = book.devices(where)[d],
                                .service = book.services(where)[d]});
        }
    }

    [[nodiscard]] std::optional<bool> fits() {
        std::vector<std::size_t> order(request_->containers.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        do {
            const bool fit = rest_fits(order, 0, 0, 0);
            if (left_ < 0) return std::nullopt;
            if (fit) return true;
        } while (!order_matters() && std::ranges::next_permutation(order).found);
        return false;
    }

private:
    struct one_device {
        const device_spec* spec = nullptr;
        device_state state;
        service_state service = service_state::in_service;
    };

    /// Of an NPU, a container that asks for no compute joins one that has all of it only if it comes first (Volcano's
    /// rule). Which container is first is for the pod to say.
    [[nodiscard]] bool order_matters() const {
        return std::ranges::any_of(devices_,
                                   [](const one_device& device) { return device.spec->mode->name() == "ascend_vir"; });
    }

    bool rest_fits(const std::vector<std::size_t>& order, std::size_t position, std::int64_t chosen, std::size_t from) {
        if (position == order.size()) return true;
        const device_request& container = request_->containers[order[position]];
        if (chosen == container.count) return rest_fits(order, position + 1, 0, 0);
        for (std::size_t d = from; d < devices_.size(); ++d) {
            one_device& device = devices_[d];
            if (why_not(*device.spec, device.state, device.service, container).code != rejection_code::none) continue;
            std::vector<partition> parts;
            device.spec->mode->candidates(*device.spec, device.state, container, parts);
            for (const partition& part : parts) {
                if (--left_ < 0) return false;
                const device_state before = device.state;
                device.state = device.spec->mode->with(*device.spec, before, part);
                const bool fit = rest_fits(order, position, chosen + 1, d + 1);
                device.state = before;
                if (fit) return true;
            }
        }
        return false;
    }

    const pod_request* request_;
    std::vector<one_device> devices_;
    std::int64_t left_ = 20'000;
};

// SEED-REQUIREMENTS (e), R065, R066; what upstream does instead is quirk Q31.
TEST(fit_property, a_pod_that_fits_in_some_way_is_not_refused) {
    hold("some way", [] {
        world in = *worlds({.nodes_max = 2, .devices_max = 3});
        for (pod_request& request : in.requests) { // what is not about devices is for other properties
            request.cpu = {};
            request.memory = {};
            while (request.containers.size() < 2) request.containers.push_back(draw_device_request());
            for (device_request& container : request.containers) container.count = 1 + container.count % 2;
        }
        ledger book{in.owned};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) {
            const pod_request& request = in.requests[what.request % in.requests.size()];
            const booking wanted = some_booking(in.owned, request, pod_id{pods++}, what.salt);
            static_cast<void>(book.reserve(wanted));
        }
        const policies_of policies{one_of(all_choices()), in};
        const reference_allocator decider{book, policies.pair()};
        for (const pod_request& request : in.requests) {
            for (std::size_t n = 0; n < in.owned.nodes.size(); ++n) {
                const auto possible = every_way{book, node_index{n}, request}.fits();
                if (!possible || !*possible) continue;
                const rejection_code host = book.why_not_host(node_index{n}, {}, {}).code;
                if (host != rejection_code::none) continue; // the pod limit
                const rejection_code code = decider.answer(request, node_index{n}).code;
                RC_ASSERT(code == rejection_code::none);
            }
        }
    });
}

} // namespace
} // namespace vgpualloc::property
