// MIG GPUs of the catalog with given instances on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support.hpp"
#include "vgpualloc/catalog/mig_states.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace vgpualloc::test {

/// A cluster of GPUs of one model, one per node, and how to speak of their instances.
struct mig_cluster {
    mig_cluster(std::string_view name, std::size_t gpus)
        : model{**find_model(built_in_mig_catalog(), name)}, cut{modes::make_mig(model).value()} {
        device_spec spec = cut->adapted({.model = model.name, .memory = mib{147'456}, .mode = cut.get()});
        for (std::size_t i = 0; i < gpus; ++i) add_node(nodes, {spec});
    }

    [[nodiscard]] partition at(std::string_view profile, std::uint32_t start) const {
        const auto named = std::ranges::find(model.profiles, profile, &mig_profile::name);
        return mig_instance{
            .profile = static_cast<std::uint32_t>(named - model.profiles.begin()), .start = start, .cores = {}};
    }
    [[nodiscard]] static device_request want_profile(std::string_view profile) {
        device_request request;
        request.count = 1;
        request.profile = profile;
        return request;
    }
    [[nodiscard]] static pod_request pod_of(std::string_view profile) { return pod({want_profile(profile)}); }
    /// One request of each profile, as frequent as the weight says.
    [[nodiscard]] static workload mix(const std::vector<std::pair<std::string, std::int64_t>>& weights) {
        double sum = 0.0;
        for (const auto& [profile, weight] : weights) sum += static_cast<double>(weight);
        workload result;
        for (const auto& [profile, weight] : weights) {
            result.typical.push_back({.cpu = milli_cpu{1000},
                                      .containers = {want_profile(profile)},
                                      .frequency = static_cast<double>(weight) / sum,
                                      .weight = weight});
        }
        return result;
    }

    const mig_model& model;
    std::shared_ptr<const modes::mig> cut;
    cluster nodes;
};

} // namespace vgpualloc::test
