// How a replay tells a caller how far it is.
#pragma once

#include <cstddef>
#include <string>

#include "vgpufacade/simulate.hpp"

namespace vgpufacade {

/// `follow` must outlive the result.
[[nodiscard]] inline vgpusim::simulation::progress teller(const progress& follow, const std::string& what,
                                                          std::size_t total) {
    if (!follow.tell) return {};
    return [&follow, what, total](std::size_t done) { follow.tell(what, done, total); };
}

} // namespace vgpufacade
