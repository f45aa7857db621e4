// Where a pod could be put, and which pods would have to be taken up for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "board.hpp"

namespace vgpualloc::plan {

/// A place for a pod that is free once `leaving` are taken up.
struct room_option {
    placement where;
    small_vector<std::uint32_t, 3> leaving; ///< positions of pods in the board
};

/// Whether pods may still be taken up after a place is chosen. If none is, devices in a state are alike whoever is on
/// them (board::are_alike).
enum class later_moves : std::uint8_t { some, none };

/// Appends the ways to put the pod onto one node by taking up exactly `leaving_count` others of it; of devices, and of
/// containers, that are alike there the first. Options from which a pod could be left out may be among them. Ends early
/// when the board is out of steps.
void append_options(board& on, std::uint32_t pod, node_index where, std::size_t leaving_count,
                    std::vector<room_option>& out, later_moves later = later_moves::some);

/// Calls `use` with places that are free for the pod now, the fullest devices first, one of each class of devices
/// before all others, until it says false or all have been shown. `use` may change the board if it changes it back.
/// Returns false if `use` did. Of a request that is not simple, places that are alike are shown once.
bool for_each_free_place(board& on, std::uint32_t pod, const std::function<bool(const placement&)>& use,
                         later_moves later = later_moves::some);

/// Whether there is a free place for the pod.
[[nodiscard]] bool has_free_place(board& on, std::uint32_t pod);

/// Of a simple request (board_request::simple): its first free place on one device.
[[nodiscard]] std::optional<placement> free_place_on(board& on, std::uint32_t pod, std::size_t place);

/// A free place for the pod on devices of a node: the first of `places` that serve it, where it has one container (the
/// first place of append_options() where it has several).
[[nodiscard]] std::optional<placement> free_place_of_devices(board& on, std::uint32_t pod, node_index where,
                                                             std::span<const std::size_t> places);

/// The container with the amount that depends on the node filled in (device_request::memory_of_first).
[[nodiscard]] device_request amounts_on(const board& on, const device_request& container, node_index where);

} // namespace vgpualloc::plan
