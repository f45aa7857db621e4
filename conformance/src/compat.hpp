// Decisions of the model of Volcano on recorded cases, with some of its quirks switched off.
#pragma once

#include <memory>
#include <string>

#include "outcome.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"

namespace vgpuconformance {

/// The model of Volcano with some quirks switched off, on the same footing as native_side: sessions start from what the
/// recording left, and go on with the model's own decisions.
class compat_side {
public:
    compat_side(const recorded_case& recorded, volcano::quirk_set quirks);
    ~compat_side();
    compat_side(const compat_side&) = delete;
    compat_side& operator=(const compat_side&) = delete;

    [[nodiscard]] outcome step(const recorded_event& event);

private:
    [[nodiscard]] outcome add(const recorded_event& event);

    std::string family_;
    std::unique_ptr<volcano::scheduler> model_;
};

} // namespace vgpuconformance
