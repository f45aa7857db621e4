// The machine that a state file describes: its GPUs, what they are cut into, and what is to go wrong.
// adapters/deviceplugin/hardware/fake/state.go says what each field of the file means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"

namespace fake_nvml {

struct process {
    std::uint32_t pid = 0;
    std::optional<std::uint32_t> gi = {}; ///< empty: on the card itself
    std::uint64_t memory_bytes = 0;
};

struct gpu {
    std::string uuid = {};
    std::string name = {};
    std::uint64_t memory_bytes = 0;
    std::int64_t minor = 0;
    std::string compute_capability = {};
    std::string pci_bus = {};
    bool mig_capable = false;
    bool mig_enabled = false;
    bool mig_needs_reset = false;
    std::optional<bool> mig_pending = {};
    bool lost = false;
    std::uint64_t used_bytes = 0;
    std::uint32_t sm_percent = 0;
    std::vector<process> processes = {};
    const vgpualloc::mig_model* table = nullptr; ///< its profiles; null: none
};

struct compute_instance {
    std::uint32_t id = 0;
    std::uint32_t profile = 0; ///< NVML's index of compute instance profiles

    bool operator==(const compute_instance&) const = default;
};

struct instance {
    std::size_t gpu = 0; ///< index
    std::uint32_t gi = 0;
    std::uint32_t profile_id = 0;
    std::uint32_t start = 0; ///< in memory slices, as is the size
    std::uint32_t size = 0;
    bool busy = false;
    std::vector<compute_instance> compute = {};

    bool operator==(const instance&) const = default;
};

struct event {
    std::int64_t gpu = 0; ///< index; -1: a handle that says no uuid
    std::uint64_t xid = 0;
    std::uint64_t type = 0; ///< NVML's bit
};

enum class kill_point { never, before, after };

struct fault {
    std::string call = {};
    std::string gpu_uuid = {};
    int code = 0;
    std::int64_t after_calls = 0;
    std::int64_t times = 0;
    std::int64_t delay_ms = 0;
    kill_point kill = kill_point::never;
    std::int64_t good_calls = 0; ///< so far, up to after_calls
    std::int64_t met = 0;        ///< so far, of one that comes a number of times

    bool operator==(const fault&) const = default;
};

struct mig_uuid {
    std::string gpu_uuid = {};
    std::uint32_t gi = 0;
    std::uint32_t ci = 0;
    std::uint32_t profile_id = 0;
    std::string uuid = {};
};

struct machine {
    std::vector<gpu> gpus;
    std::vector<instance> instances;
    bool reverse_index_order = false;
    std::vector<event> events;
    bool replay_events = false;
    std::vector<fault> faults;
    std::vector<mig_uuid> mig_uuids;

    /// The position of the GPU with this uuid; gpus.size() if there is none.
    [[nodiscard]] std::size_t index_of(std::string_view uuid) const noexcept;
    /// The GPU instance of this number; null if the GPU does not have it.
    [[nodiscard]] const instance* find(std::size_t gpu_index, std::uint32_t gi) const noexcept;
    [[nodiscard]] instance* find(std::size_t gpu_index, std::uint32_t gi) noexcept;
};

/// The profiles that a state file names: those of the recordings ("a100-40" and the like: neither engines nor numbers
/// of instances limit them), a model of the catalog, or, with an empty name, the model that the catalog finds in the
/// GPU's own name. Null if there is none, and for "none".
[[nodiscard]] const vgpualloc::mig_model* table_of(std::string_view table, std::string_view gpu_name);

/// Whether a fault is of this call of this GPU. One of the two calls that make GPU instances stands for both.
[[nodiscard]] bool hits(const fault& planned, std::string_view call, std::string_view uuid) noexcept;
/// The position of the fault that decides a call; faults.size() if none does.
[[nodiscard]] std::size_t next_fault(const machine& host, std::string_view call, std::string_view uuid) noexcept;

/// Reads a state file. The error names the field.
[[nodiscard]] vgpualloc::expected<machine, std::string> read_machine(const nlohmann::json& document);

/// Writes what calls change into the document that a machine was read from: instances, MIG modes and the counts of
/// faults. All else stays.
void write_changes(const machine& changed, nlohmann::json& document);

} // namespace fake_nvml
