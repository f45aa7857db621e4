// NVIDIA MPS: processes share a GPU through one server, each with limits of memory and threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "vgpualloc/catalog/mps.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices of memory (CUDA_MPS_PINNED_DEVICE_MEM_LIMIT) and threads (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). A request
/// without cores gets no thread limit and reserves nothing: a limit is no guarantee, so such a client joins anybody.
/// Limits of either kind add up to at most the device; MPS itself takes any thread limits. Source: NVIDIA's
/// "Multi-Process Service" (docs.nvidia.com/deploy/mps: client limits, execution resource provisioning, memory
/// protection and error containment).
///
/// NVIDIA's device plugin offers a GPU as replicas, its slots, and gives every client the same limits: the memory of
/// the GPU and 100 % of its threads, divided by the replicas and rounded down. It turns away a container that asks for
/// several. Source: k8s-device-plugin, sharing.mps (limits: mps-control-daemon; failRequestsGreaterThanOne is always
/// true).
///
/// A GPU has no more clients than device_registration::clients_max, or where nothing says that, as many as
/// mps_limits::clients_unsaid of the built-in limits (catalog/mps.hpp).
class mps final : public named<"mps", one_part_mode<mps, replica_mode<mps>>> {
public:
    using named::named;
    mps(unit_rules rules, std::int64_t clients) : named{rules}, clients_{clients} {}

    /// One object for each limit and rules; the scheduler's choice under the limit that holds where nothing says one is
    /// the one of all.
    [[nodiscard]] static expected<std::shared_ptr<const sharing_mode>> make(const device_registration& device,
                                                                            const mig_catalog& catalog) {
        const std::int64_t clients = clients_of(device);
        if (clients == built_in_mps_limits().clients_unsaid) return replica_mode::make(device, catalog);
        return std::make_shared<const mps>(device.units, clients);
    }
    [[nodiscard]] static bool key(const device_registration& a, const device_registration& b) {
        return replica_mode::key(a, b) && clients_of(a) == clients_of(b);
    }

    /// A fatal fault ends all clients on the GPU (R050 of docs/requirements.md).
    [[nodiscard]] bool shares_faults() const noexcept override { return true; }
    /// It is contained to the GPUs that clients share with the faulty one, and reported to all clients on these
    /// (NVIDIA's "Multi-Process Service", memory protection and error containment).
    [[nodiscard]] bool faults_follow_clients() const noexcept override { return true; }
    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = whole_compute;
        spec.slots = std::min(spec.slots, clients_);
        return spec;
    }

    [[nodiscard]] slice part_for(const device_spec& device, const device_request& request) const {
        if (!units().in_units()) return slice_mode::part_for(device, request);
        return {.memory = mib{device.memory.count() / device.slots},
                .cores = core_percent{device.cores.count() / device.slots}};
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const slice part = part_for(device, request);
        const bool asks_for_memory = !wants_all_memory(request); // all of it is what every unit is of
        if (units().in_units() && asks_for_memory && memory_wanted(device, request) > part.memory) {
            return {.code = rejection_code::insufficient_device_memory,
                    .wanted = memory_wanted(device, request).count(),
                    .available = part.memory.count()};
        }
        return first_refusal({why_too_many_units(units(), request), why_not(device, state, partition{part})});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        return why_no_slice(device, std::min(device.slots, clients_), state, part);
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return units().in_units() ? share_of_slots(device, state) : larger_share(device, state);
    }

    /// A replica, whatever else is asked for, where they are what is offered.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        if (!units().in_units()) return sharing_mode::requested(device, request);
        const fraction replica = fraction::of(1, device.slots);
        return {.memory = replica, .compute = replica};
    }

private:
    [[nodiscard]] static std::int64_t clients_of(const device_registration& device) {
        return device.clients_max > 0 ? device.clients_max : built_in_mps_limits().clients_unsaid;
    }

    std::int64_t clients_ = built_in_mps_limits().clients_unsaid;
};

} // namespace vgpualloc::modes
