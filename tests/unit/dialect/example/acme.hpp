// The acme dialect: cards of a vendor that there is not, shared by memory. The example of docs/adding-a-dialect.md.
#pragma once

#include <memory>

#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::acme {

/// A container asks with limit acme.com/memory, in MiB, for a part of one card. A node registers its cards in
/// annotation acme.com/cards, "<uuid>=<MiB>" each and joined by ','; a pod has what annotation acme.com/assigned says,
/// in the same words, one entry for each container that asks.
[[nodiscard]] std::shared_ptr<const dialect> make(const dialect_config& config);

inline constexpr dialect_entry list_entry{
    .name = "acme",
    .summary = "cards of Acme, shared by memory: acme.com/memory",
    .make = make,
};

} // namespace vgpualloc::dialects::acme
