// What every exported function does before and after its own work.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "rules.hpp"
#include "session.hpp"

/// An exported function of NVML.
#define VGA_FAKE_NVML extern "C" __attribute__((visibility("default")))

namespace fake_nvml {

/// The thing that a call is about: the machine, the position of the GPU, and what the handle stands for.
struct subject {
    const machine& host;
    std::size_t gpu_index;
    const handle& target;

    [[nodiscard]] const gpu& card() const { return host.gpus[gpu_index]; }
    /// The GPU instance that the handle stands for or is in; null if it is gone.
    [[nodiscard]] const instance* made() const { return host.find(gpu_index, target.gi); }
};

[[nodiscard]] inline int code_of(result code) noexcept { return static_cast<int>(code); }

/// Runs `work`, from which no exception leaves the library.
template <class Work>
[[nodiscard]] int contained(const Work& work) noexcept {
    try {
        return code_of(work());
    } catch (const std::exception&) {
        return code_of(result::unknown);
    }
}

/// A call that reads and needs no GPU: `work(machine)` answers a result.
template <class Work>
[[nodiscard]] int query(std::string_view call, const Work& work) noexcept {
    return contained([&] {
        session& process = session::of_process();
        const session::begun begun = process.begin(call, {});
        if (!begun.carried_out) return begun.code;
        const result code = work(*begun.host);
        process.end(begun, call, {}, code);
        return code;
    });
}

/// Whether what a handle stands for is still there.
[[nodiscard]] inline bool is_there(const subject& of) {
    if (of.target.kind == handle_kind::device) return true;
    const instance* made = of.made();
    if (made == nullptr || !of.card().mig_enabled) return false;
    if (of.target.kind == handle_kind::gpu_instance) return true;
    return std::ranges::find(made->compute, of.target.ci, &compute_instance::id) != made->compute.end();
}

/// The result of looking a handle up: success if the call may go on.
[[nodiscard]] inline result check(const subject& of) {
    if (of.card().lost) return result::gpu_is_lost;
    return is_there(of) ? result::success : result::not_found;
}

/// A call about a handle of one of these kinds: `work(subject)` answers a result.
template <class Work>
[[nodiscard]] int query(std::string_view call, const void* pointer, std::initializer_list<handle_kind> kinds,
                        const Work& work) noexcept {
    return contained([&] {
        session& process = session::of_process();
        const handle* target = process.known(pointer);
        const session::begun begun = process.begin(call, target == nullptr ? std::string_view{} : target->uuid);
        if (!begun.carried_out) return begun.code;
        if (target == nullptr) return result::invalid_argument;
        if (target->kind == handle_kind::unreadable) return result::unknown;
        if (std::ranges::find(kinds, target->kind) == kinds.end()) return result::invalid_argument;
        const std::size_t gpu_index = begun.host->index_of(target->uuid);
        if (gpu_index == begun.host->gpus.size()) return result::gpu_is_lost;
        const subject of{*begun.host, gpu_index, *target};
        if (const result code = check(of); code != result::success) return code;
        const result code = work(of);
        process.end(begun, call, target->uuid, code);
        return code;
    });
}

/// What a changing call did: its result, and what the log says of it after the arrow where it succeeded.
struct changed {
    result code = result::success;
    std::string effect = {};
};

/// A call that changes the machine: `work(machine, gpu index, handle)` answers what it did, and `call_line(gpu index)`
/// is the log's text of the call. A refused call is logged too, one by a fault as well.
template <class Line, class Work>
[[nodiscard]] int change(std::string_view call, const void* pointer, handle_kind kind, const Line& call_line,
                         const Work& work) noexcept {
    return contained([&] {
        session& process = session::of_process();
        const handle* target = process.known(pointer);
        const session::begun begun = process.begin(call, target == nullptr ? std::string_view{} : target->uuid);
        if (!begun.carried_out && begun.host == nullptr) return begun.code;
        if (target == nullptr || target->kind != kind) return result::invalid_argument;
        changed done;
        const result written = process.change([&](machine& host) -> store::outcome {
            const std::size_t gpu_index = host.index_of(target->uuid);
            if (gpu_index == host.gpus.size()) {
                done.code = result::gpu_is_lost;
                return {};
            }
            if (!begun.carried_out) {
                done.code = begun.code;
            } else if (done.code = check({host, gpu_index, *target}); done.code == result::success) {
                done = work(host, gpu_index, *target);
            }
            std::string line = call_line(gpu_index, *target);
            if (done.code != result::success) done.effect = text_of(done.code);
            if (!done.effect.empty()) line += " -> " + done.effect;
            return {std::move(line), done.code == result::success};
        });
        if (written != result::success) return written;
        process.end(begun, call, target->uuid, done.code);
        return done.code;
    });
}

/// Copies a text with its end into a caller's buffer.
[[nodiscard]] inline result copy(std::string_view text, char* buffer, unsigned int size) noexcept {
    if (buffer == nullptr) return result::invalid_argument;
    if (text.size() + 1 > size) return result::insufficient_size;
    std::memcpy(buffer, text.data(), text.size());
    buffer[text.size()] = '\0';
    return result::success;
}

/// Gives a list as NVML does: `count` is what there is room for, and then how many there are.
template <class T>
[[nodiscard]] result give(std::span<const T> list, unsigned int* count, T* buffer) noexcept {
    if (count == nullptr) return result::invalid_argument;
    const unsigned int room = *count;
    *count = static_cast<unsigned int>(list.size());
    if (list.size() > room || (buffer == nullptr && !list.empty())) return result::insufficient_size;
    std::ranges::copy(list, buffer);
    return result::success;
}

} // namespace fake_nvml
