// What all calls of the C interface share: one lock around each cluster, texts in the caller's memory, nothing thrown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "vgpualloc/c_api.h"
#include "vgpualloc/core/error.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/operate/device_layouts.hpp"

struct vga_cluster {
    std::mutex turn; ///< one call at a time
    std::unique_ptr<vgpualloc::live_cluster> live;
    std::unique_ptr<vgpualloc::operate::device_layouts> layouts; ///< of `live`
    std::uint64_t nodes_version = 0;
};

namespace vgpualloc::c_api {

/// As much of `text` as fits, and its length.
inline bool write_text(vga_text* to, std::string_view text) {
    if (to == nullptr) return true;
    to->length = text.size();
    if (to->capacity == 0 || to->data == nullptr) return false;
    const std::size_t shown = std::min(text.size(), to->capacity - 1);
    std::memcpy(to->data, text.data(), shown);
    to->data[shown] = '\0';
    return shown == text.size();
}

inline vga_status refuse(vga_status status, vga_text* why, std::string_view words) {
    write_text(why, words);
    return status;
}

inline vga_status refuse_input(vga_text* why, const error& failure) {
    return refuse(VGA_BAD_INPUT, why, failure.message());
}

/// A result text: written whole or not at all.
inline vga_status give_text(vga_text* to, const std::string& text) {
    if (to == nullptr) return VGA_BAD_ARGUMENT;
    to->length = text.size();
    if (to->data == nullptr || to->capacity <= text.size()) return VGA_TOO_SMALL;
    write_text(to, text);
    return VGA_OK;
}

inline vga_status unknown_pod(const char* uid, vga_text* why) {
    return refuse(VGA_UNKNOWN_POD, why, "no pod with uid " + std::string{uid});
}

inline std::string_view text_or_empty(const char* text) { return text == nullptr ? std::string_view{} : text; }

/// A structure has the size that some header so far gave it, which is one.
template <class Struct>
bool is_known_size(const Struct* from) {
    return from == nullptr || from->struct_size == sizeof(Struct);
}

template <class Struct>
vga_status wrong_size(const char* name, const Struct& from, vga_text* why) {
    return refuse(VGA_BAD_ARGUMENT, why,
                  std::string{name} + ": struct_size: got '" + std::to_string(from.struct_size) + "', expected " +
                      std::to_string(sizeof(Struct)));
}

/// Of a structure whose size comes beside it, as of those in an array: as above.
template <class Struct>
bool is_known_item(std::size_t size) {
    return size == sizeof(Struct);
}

template <class Struct>
vga_status wrong_item_size(const char* name, std::size_t size, vga_text* why) {
    return refuse(VGA_BAD_ARGUMENT, why,
                  std::string{name} + ": the size of one: got '" + std::to_string(size) + "', expected " +
                      std::to_string(sizeof(Struct)));
}

/// Runs a call. Whatever is thrown ends here.
template <class Call>
vga_status guarded(vga_text* why, Call&& call) noexcept {
    if (why != nullptr) why->length = 0;
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return refuse(VGA_OUT_OF_MEMORY, why, "out of memory");
    } catch (const std::exception& fault) {
        return refuse(VGA_INTERNAL, why, fault.what());
    } catch (...) {
        return refuse(VGA_INTERNAL, why, "a fault of the library");
    }
}

/// Runs a call on a cluster, alone.
template <class Call>
vga_status on(vga_cluster* cluster, vga_text* why, Call&& call) noexcept {
    return guarded(why, [&] {
        if (cluster == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "cluster is NULL");
        const std::lock_guard alone{cluster->turn};
        return call(*cluster->live);
    });
}

/// The same for calls that trials have no place for.
template <class Call>
vga_status outside_trials(vga_cluster* cluster, vga_text* why, Call&& call) noexcept {
    return on(cluster, why, [&](live_cluster& live) {
        if (live.trials() > 0) return refuse(VGA_WRONG_STATE, why, "a trial is open: it has to end first");
        return call(live);
    });
}

} // namespace vgpualloc::c_api
