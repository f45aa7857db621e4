// fgd: fragmentation gradient descent (Weng et al., USENIX ATC'23), with the exact score.
#pragma once

#include <memory>
#include <string_view>

#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

/// The score is the fall of the node's expected unusable idle capacity F, in GPUs. Unlike the reference it is compared
/// as it is: no sigmoid, no truncation to an integer, so that small differences count.
class fgd final : public policy {
public:
    static constexpr std::string_view id = "fgd";
    static constexpr std::string_view about = "node and device where fragmentation grows least (exact score)";

    explicit fgd(const policy_parameters& parameters) : fragmentation_{parameters.fragmentation_or_new()} {}

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        return (fragmentation_->unusable(*before.config, before.cpu_left) -
                fragmentation_->unusable(*after.config, after.cpu_left)) /
               1000.0;
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view&) override {
        return node_score(request, before, after);
    }
    [[nodiscard]] bool scores_devices_by_node() const noexcept override { return true; }
    void forget_ids() override { fragmentation_->forget_ids(); }

private:
    std::shared_ptr<fragmentation_model> fragmentation_;
};

} // namespace vgpualloc::policies
