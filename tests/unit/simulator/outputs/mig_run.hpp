// A run on one MIG GPU, made by hand: what is written of parts that have places.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/engine/record.hpp"

namespace vgpusim_test {

/// An A100 of 40 GB, which has eight slices. Nothing runs on it yet.
struct mig_run {
    mig_run() {
        auto mode =
            vgpualloc::modes::make_mig(**vgpualloc::find_model(vgpualloc::built_in_mig_catalog(), "A100-40GB")).value();
        vgpualloc::cluster nodes;
        vgpualloc::device_spec spec;
        spec.model = "A100-40GB";
        spec.mode = mode.get();
        const std::uint32_t kind = nodes.kind_of(mode->adapted(spec));
        nodes.modes.push_back(std::move(mode));
        nodes.nodes.push_back({.name = "gpu-node",
                               .cpu = vgpualloc::milli_cpu{64'000},
                               .memory = vgpualloc::bytes{1LL << 40},
                               .devices = {{.uuid = "", .kind = kind}}});
        record.ledger = std::make_unique<vgpualloc::ledger>(std::move(nodes));
        record.ledger->expect_pods(8);
        input.node_list_order = {0};
        input.requests.emplace_back();
        input.requested.add(vgpusim::requested_milli(1, vgpualloc::whole_gpu));
        input.request_names = {"training"};
        input.names = {"a", "b", "c"};
        for (std::uint32_t i = 0; i < 3; ++i)
            input.pods.push_back({.name = i, .request = 0, .arrival = {}, .duration = {}});
    }

    /// The pod takes an instance of this profile, which the model lists at that position.
    void start(std::uint32_t pod, std::uint32_t profile, std::uint32_t first_slice, std::int64_t second) {
        vgpualloc::booking entry;
        entry.owner = vgpualloc::pod_id{pod};
        entry.where.node = vgpualloc::node_index{0};
        entry.where.shares.push_back({.container = 0,
                                      .device = vgpualloc::device_index{0},
                                      .part = vgpualloc::mig_instance{.profile = profile, .start = first_slice}});
        (void)record.ledger->reserve(std::move(entry)).value();
        (void)record.ledger->commit(vgpualloc::pod_id{pod});
        note(second);
    }
    void end(std::uint32_t pod, std::int64_t second) {
        (void)record.ledger->release(vgpualloc::pod_id{pod});
        note(second);
    }
    void note(std::int64_t second) {
        record.result.clock.note(record.ledger->next_event(), second * vgpualloc::ticks_per_second);
    }
    [[nodiscard]] std::uint32_t profile(const char* name) const {
        const auto& model = *vgpualloc::find_model(vgpualloc::built_in_mig_catalog(), "A100-40GB").value();
        return static_cast<std::uint32_t>(vgpualloc::find_profile(model, name).value() - model.profiles.data());
    }

    vgpusim::run_record record;
    vgpusim::simulation_input input;
};

} // namespace vgpusim_test
