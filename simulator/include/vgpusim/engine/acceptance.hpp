// What of the pods and GPUs asked for was accepted, and by how many GPUs a pod asks for. Every output that says so
// takes it from here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "vgpusim/workload/requested.hpp"

namespace vgpusim {

/// Pods that ask for at least `from` GPUs and for less than `below`.
struct gpu_size {
    std::string_view name; ///< in all outputs
    std::int64_t from = 0;
    std::int64_t below = 0;
};

/// All sizes, so that no table by size has more rows. The first one is that of shares of a GPU.
inline constexpr std::array<gpu_size, 8> gpu_sizes{{{"below 1", 0, 1},
                                                    {"1", 1, 2},
                                                    {"2 to 3", 2, 4},
                                                    {"4 to 7", 4, 8},
                                                    {"8 to 15", 8, 16},
                                                    {"16 to 31", 16, 32},
                                                    {"32 to 63", 32, 64},
                                                    {"64 or more", 64, std::numeric_limits<std::int64_t>::max()}}};

/// Position in gpu_sizes of so many units, more than 0, of which a GPU has `whole`.
[[nodiscard]] std::size_t size_of_units(std::int64_t units, std::int64_t whole) noexcept;

/// Pods of one size.
struct accepted_size {
    std::int64_t arrived = 0;
    std::int64_t accepted = 0;
    wide_integer waited_ticks = 0; ///< of those that were accepted, until their first start

    /// Of those that have arrived; 1 where none has.
    [[nodiscard]] double accepted_ratio() const noexcept;
    /// Nothing where none was accepted.
    [[nodiscard]] std::optional<double> wait_mean_s() const noexcept;
};

/// A pod is accepted that has started at least once: one that has failed is not, nor is one that still waits at the
/// end. A pod asks for as many GPUs as the larger of what it wants of memory and compute, summed over its devices. Pods
/// without GPUs are of no size.
struct acceptance {
    std::int64_t whole = whole_gpu.count(); ///< units that a GPU has
    accepted_size pods{};                   ///< all of them, those without GPUs too
    wide_integer arrived_units = 0;         ///< asked for by all
    wide_integer accepted_units = 0;        ///< asked for by those that were accepted
    double waited_gpu_s = 0.0;              ///< GPUs x seconds that accepted pods waited
    std::array<accepted_size, gpu_sizes.size()> by_size{};

    /// A pod that asks for so many units. `wait`: until its first start, of meaning only where it is accepted.
    void count(std::int64_t units, bool is_accepted, ticks wait = {});

    [[nodiscard]] double arrived_gpus() const noexcept { return gpus_of(arrived_units); }
    [[nodiscard]] double accepted_gpus() const noexcept { return gpus_of(accepted_units); }
    /// GPUs asked for by accepted pods, of those asked for by all pods that have arrived; 1 where none was asked for.
    [[nodiscard]] double gpu_ratio() const noexcept;
    /// Mean wait of accepted pods, each as often as it asks for GPUs; nothing where none was accepted that asks for
    /// any.
    [[nodiscard]] std::optional<double> gpu_wait_mean_s() const noexcept;

private:
    [[nodiscard]] double gpus_of(wide_integer units) const noexcept {
        return static_cast<double>(units) / static_cast<double>(whole);
    }
};

} // namespace vgpusim
