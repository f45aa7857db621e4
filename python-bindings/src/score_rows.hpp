// What a policy in Python sees of nodes, devices and requests: columns of whole numbers, one row for each candidate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <nanobind/nanobind.h>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpupython {

namespace nb = nanobind;

inline constexpr std::size_t node_fields = 6;   ///< cpu_milli cpu_free_milli gpus gpus_idle used_milli free_milli
inline constexpr std::size_t device_fields = 4; ///< used_milli free_milli memory_mib memory_free_mib

[[nodiscard]] std::array<std::int64_t, node_fields> fields_of(const vgpualloc::node_view& node, std::size_t devices);
[[nodiscard]] std::array<std::int64_t, device_fields> fields_of(const vgpualloc::device_view& device);

/// Rows of states, column after column. Arrays that Python holds share the values.
class score_rows {
public:
    explicit score_rows(std::size_t fields) : values_(fields) {}

    void add(const vgpualloc::node_view& node, std::size_t devices);
    void add(const vgpualloc::device_view& device);
    void add_nothing(); ///< a node that is not there: all is 0
    /// The configurations that were added go.
    void close() noexcept { configs_.clear(); }
    /// No rows any more.
    void clear() noexcept;

    [[nodiscard]] std::size_t rows() const noexcept { return values_.front().size(); }
    [[nodiscard]] const std::vector<std::int64_t>& column(std::size_t field) const noexcept { return values_[field]; }
    /// What is free of each device, the most first and -1 after the last: rows × width(). Raises StateError where that
    /// is not known any more, or never was.
    [[nodiscard]] const std::vector<std::int64_t>& gpus_free();
    [[nodiscard]] std::size_t width() const noexcept { return width_; }

private:
    std::vector<std::vector<std::int64_t>> values_;
    std::vector<const vgpualloc::device_config*> configs_; ///< by row, of nodes
    std::vector<std::int64_t> gpus_free_;
    std::size_t width_ = 0;
};

/// A state as a policy gets it: one row as numbers, or all as arrays.
struct shown_rows {
    std::shared_ptr<score_rows> rows;
    bool single = false;
};
struct node_state : shown_rows {};
struct device_state : shown_rows {};

/// A request in a policy's eyes; equal requests have one number.
struct shown_request {
    std::int64_t id = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t gpus = 0;
    std::int64_t gpu_milli = 0; ///< over all its devices

    [[nodiscard]] std::array<std::int64_t, 5> values() const noexcept {
        return {id, cpu_milli, memory_mib, gpus, gpu_milli};
    }
};

/// Requests as the devices of a cluster could serve them; without a cluster as they say by themselves.
class request_describer {
public:
    /// The cluster must stay while it is the one that is asked for; it may gain nodes.
    [[nodiscard]] shown_request of(const vgpualloc::pod_request& request, std::int64_t id,
                                   const vgpualloc::cluster* nodes);

private:
    std::optional<vgpualloc::requested_amounts> amounts_;
    const vgpualloc::cluster* nodes_ = nullptr; ///< of amounts_
    std::size_t node_count_ = 0;                ///< likewise
};

} // namespace vgpupython
