// Volcano's legacy gpushare devices, by memory or by number (docs/compat.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "vgpualloc/compat/volcano/device.hpp"

namespace vgpualloc::compat::volcano {

/// Far more cards than a node has. Upstream builds as many as a node says; who reads nodes from files refuses more.
inline constexpr std::int64_t gpushare_cards_max = 1024;

/// How many cards the node's capacity says it has, or none where it says nothing that can be read.
[[nodiscard]] std::optional<std::int64_t> gpushare_cards(const node& where);

/// The node's gpushare object; null where upstream creates none. Memory and time are by gpushare_cards(where). The
/// options must outlive it.
[[nodiscard]] std::unique_ptr<device_object> make_gpushare(const node& where, const plugin_options& options);

} // namespace vgpualloc::compat::volcano
