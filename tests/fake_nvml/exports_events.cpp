// NVML's functions of events.
#include <chrono>
#include <thread>

#include "guard.hpp"

using namespace fake_nvml; // NOLINT(google-build-using-namespace): functions with C names

namespace {

constexpr unsigned long long supported_types = abi::event_ecc_single | abi::event_ecc_double | abi::event_xid;
constexpr std::chrono::milliseconds look_again{10};

void fill(const machine& host, const event& reported, abi::event_data* data) {
    session& process = session::of_process();
    const handle from = reported.gpu < 0
                            ? handle{handle_kind::unreadable}
                            : handle{handle_kind::device, host.gpus[static_cast<std::size_t>(reported.gpu)].uuid};
    *data = {process.handle_of(from), reported.type, reported.type == abi::event_xid ? reported.xid : 0,
             abi::no_instance, abi::no_instance};
}

} // namespace

VGA_FAKE_NVML int nvmlEventSetCreate(const void** set) {
    return query("nvmlEventSetCreate", [&](const machine&) {
        if (set == nullptr) return result::invalid_argument;
        *set = session::of_process().add_event_set();
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlEventSetFree(const void* set) {
    return query("nvmlEventSetFree", [&](const machine&) { return session::of_process().free_event_set(set); });
}

VGA_FAKE_NVML int nvmlDeviceGetSupportedEventTypes(const void* device, unsigned long long* types) {
    return query("nvmlDeviceGetSupportedEventTypes", device, {handle_kind::device}, [&](const subject&) {
        if (types == nullptr) return result::invalid_argument;
        *types = supported_types;
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceRegisterEvents(const void* device, unsigned long long types, const void* set) {
    return query("nvmlDeviceRegisterEvents", device, {handle_kind::device}, [&](const subject& of) {
        if ((types & ~supported_types) != 0) return result::not_supported;
        return session::of_process().watch(set, of.card().uuid, types);
    });
}

VGA_FAKE_NVML int nvmlEventSetWait_v2(const void* set, abi::event_data* data, unsigned int timeout_ms) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms};
    return query("nvmlEventSetWait", [&](const machine&) {
        if (data == nullptr) return result::invalid_argument;
        while (true) {
            const auto next = session::of_process().next_event(set);
            if (!next) return next.error();
            if (*next) {
                const session::begun now = session::of_process().begin({}, {});
                if (now.host == nullptr) return now.code;
                fill(*now.host, **next, data);
                return result::success;
            }
            const auto left = until - std::chrono::steady_clock::now();
            if (left <= std::chrono::nanoseconds{0}) return result::timeout;
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, look_again));
        }
    });
}
VGA_FAKE_NVML int nvmlEventSetWait(const void* set, abi::event_data* data, unsigned int timeout_ms) {
    return nvmlEventSetWait_v2(set, data, timeout_ms);
}
