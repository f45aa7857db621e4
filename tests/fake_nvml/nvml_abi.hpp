// What of NVML's binary interface the fake answers: result codes, and structures as a caller lays them out.
#pragma once

#include <array>
#include <cstdint>

namespace fake_nvml {

/// Results of calls; the numbers are NVML's.
enum class result : int {
    success = 0,
    uninitialized = 1,
    invalid_argument = 2,
    not_supported = 3,
    not_found = 6,
    insufficient_size = 7,
    driver_not_loaded = 9,
    timeout = 10,
    gpu_is_lost = 15,
    reset_required = 16,
    in_use = 19,
    insufficient_resources = 23,
    argument_version_mismatch = 25,
    unknown = 999,
};

/// The text that NVML has for a result.
[[nodiscard]] const char* text_of(result code) noexcept;

namespace abi {

using uint = unsigned int;
using ulonglong = unsigned long long;

inline constexpr uint no_instance = 0xFFFFFFFFU;

struct memory {
    ulonglong total, free, used;
};
struct memory_v2 {
    uint version;
    ulonglong total, reserved, free, used;
};
struct utilization {
    uint gpu, memory;
};
struct pci_info {
    std::array<char, 16> legacy_bus_id;
    uint domain, bus, device, device_id, subsystem_id;
    std::array<char, 32> bus_id;
};
struct process_v1 {
    uint pid;
    ulonglong memory;
};
struct process {
    uint pid;
    ulonglong memory;
    uint gpu_instance, compute_instance;
};
struct attributes {
    uint multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    ulonglong memory_mib;
};
struct placement {
    uint start, size;
};
struct gpu_profile {
    uint id, peer_to_peer, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
    ulonglong memory_mib;
};
struct gpu_profile_v2 {
    uint version, id, peer_to_peer, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
    ulonglong memory_mib;
    std::array<char, 96> name;
};
struct gpu_instance_info {
    const void* device;
    uint id, profile_id;
    abi::placement placement;
};
struct compute_profile {
    uint id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
};
struct compute_instance_info {
    const void* device;
    const void* gpu_instance;
    uint id, profile_id;
    abi::placement placement;
};
struct event_data {
    const void* device;
    ulonglong type, data;
    uint gpu_instance, compute_instance;
};

inline constexpr ulonglong event_ecc_single = 1, event_ecc_double = 2, event_xid = 8;
inline constexpr uint gpu_profile_count = 0x11, compute_profile_count = 8;

} // namespace abi
} // namespace fake_nvml
