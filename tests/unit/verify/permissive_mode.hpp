// A mode that accepts everything, for violations that no honest mode lets through.
#pragma once

#include <string_view>
#include <vector>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc::test {

class permissive_mode : public sharing_mode {
public:
    [[nodiscard]] std::string_view name() const noexcept final { return "permissive"; }
    void candidates(const device_spec&, const device_state&, const device_request&,
                    std::vector<partition>&) const final {}
    [[nodiscard]] rejection_detail why_not(const device_spec&, const device_state&, const device_request&) const final {
        return {};
    }
    [[nodiscard]] rejection_detail why_not(const device_spec&, const device_state&, const partition&) const final {
        return {};
    }
    [[nodiscard]] milli_gpu used(const device_spec&, const device_state&) const final { return {}; }
};

} // namespace vgpualloc::test
