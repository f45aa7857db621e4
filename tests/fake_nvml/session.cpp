#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace fake_nvml {

namespace {

void report(const std::string& failure) { std::fprintf(stderr, "fake NVML: %s\n", failure.c_str()); }

[[nodiscard]] session::begun ended(result code) { return {.host = nullptr, .code = code, .carried_out = false}; }

} // namespace

session& session::of_process() {
    static session* only = new session; // never destroyed: other threads may still call while the process ends
    return *only;
}

result session::start(std::string_view call) {
    {
        const std::scoped_lock guard{mutex_};
        if (started_ == 0) {
            const char* path = std::getenv("VGPUALLOC_FAKE_NVML");
            if (path == nullptr || *path == '\0') return result::driver_not_loaded;
            store_.emplace(path);
            sets_.clear();
        }
        ++started_;
    }
    const begun call_begun = begin(call, {});
    if (!call_begun.carried_out) {
        static_cast<void>(stop());
        return call_begun.code;
    }
    end(call_begun, call, {}, result::success);
    return result::success;
}

result session::stop() {
    const std::scoped_lock guard{mutex_};
    if (started_ == 0) return result::uninitialized;
    --started_;
    return result::success;
}

vgpualloc::expected<std::shared_ptr<const machine>, result> session::current() {
    if (started_ == 0) return vgpualloc::unexpected(result::uninitialized);
    auto host = store_->current();
    if (!host) {
        report(host.error());
        return vgpualloc::unexpected(result::unknown);
    }
    return *host;
}

session::begun session::begin(std::string_view call, std::string_view uuid) {
    std::shared_ptr<const machine> host;
    {
        const std::scoped_lock guard{mutex_};
        auto now = current();
        if (!now) return ended(now.error());
        host = std::move(*now);
    }
    const std::optional<fault> planned = met(*host, call, uuid);
    if (!planned) return {.host = std::move(host)};
    if (planned->delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds{planned->delay_ms});
    if (planned->kill == kill_point::before) static_cast<void>(std::raise(SIGKILL));
    return {.host = std::move(host),
            .code = static_cast<result>(planned->code),
            .carried_out = planned->code == 0,
            .kill_after = planned->kill == kill_point::after,
            .faulty = true};
}

/// The fault that a call meets. One that comes a number of times is counted in the file, where programs share it.
std::optional<fault> session::met(const machine& host, std::string_view call, std::string_view uuid) {
    const std::size_t position = next_fault(host, call, uuid);
    if (position == host.faults.size()) return std::nullopt;
    if (host.faults[position].times == 0) return host.faults[position];
    std::optional<fault> planned;
    static_cast<void>(change([&](machine& now) -> store::outcome {
        const std::size_t again = next_fault(now, call, uuid);
        if (again == now.faults.size()) return {};
        ++now.faults[again].met;
        planned = now.faults[again];
        return {{}, true};
    }));
    return planned;
}

void session::end(const begun& from, std::string_view call, std::string_view uuid, result code) {
    if (from.kill_after) static_cast<void>(std::raise(SIGKILL));
    if (from.faulty || code != result::success) return;
    const auto waits = [&](const fault& planned) {
        return planned.good_calls < planned.after_calls && hits(planned, call, uuid);
    };
    if (std::ranges::none_of(from.host->faults, waits)) return;
    static_cast<void>(change([&](machine& now) -> store::outcome {
        for (fault& planned : now.faults) planned.good_calls += waits(planned) ? 1 : 0;
        return {{}, true};
    }));
}

result session::change(const std::function<store::outcome(machine&)>& change) {
    std::optional<store> file;
    {
        const std::scoped_lock guard{mutex_};
        if (started_ == 0) return result::uninitialized;
        file.emplace(store_->path());
    }
    if (const auto done = file->change(change); !done) {
        report(done.error());
        return result::unknown;
    }
    return result::success;
}

const handle* session::handle_of(const handle& wanted) {
    const std::scoped_lock guard{mutex_};
    return &*handles_.insert(wanted).first;
}

const handle* session::known(const void* pointer) {
    const std::scoped_lock guard{mutex_};
    const auto entry = std::ranges::find(handles_, pointer, [](const handle& known) -> const void* { return &known; });
    return entry == handles_.end() ? nullptr : &*entry;
}

event_set* session::add_event_set() {
    const std::scoped_lock guard{mutex_};
    auto added = std::make_unique<event_set>();
    if (const auto host = current(); host && !(*host)->replay_events) added->next = (*host)->events.size();
    event_set* result = added.get();
    sets_.emplace(result, std::move(added));
    return result;
}

result session::free_event_set(const void* pointer) {
    const std::scoped_lock guard{mutex_};
    return sets_.erase(pointer) == 1 ? result::success : result::invalid_argument;
}

result session::watch(const void* set, const std::string& uuid, std::uint64_t types) {
    const std::scoped_lock guard{mutex_};
    const auto entry = sets_.find(set);
    if (entry == sets_.end()) return result::invalid_argument;
    entry->second->types[uuid] |= types;
    return result::success;
}

vgpualloc::expected<std::optional<event>, result> session::next_event(const void* set) {
    const std::scoped_lock guard{mutex_};
    const auto host = current();
    if (!host) return vgpualloc::unexpected(host.error());
    const auto entry = sets_.find(set);
    if (entry == sets_.end()) return vgpualloc::unexpected(result::invalid_argument);
    event_set& waiting = *entry->second;
    const machine& now = **host;
    waiting.next = std::min(waiting.next, now.events.size());
    while (waiting.next < now.events.size()) {
        const event& reported = now.events[waiting.next++];
        if (reported.gpu < 0) return reported;
        if (static_cast<std::size_t>(reported.gpu) >= now.gpus.size()) continue;
        const auto types = waiting.types.find(now.gpus[static_cast<std::size_t>(reported.gpu)].uuid);
        if (types != waiting.types.end() && (types->second & reported.type) != 0) return reported;
    }
    for (const gpu& card : now.gpus) {
        if (card.lost && waiting.types.contains(card.uuid)) return vgpualloc::unexpected(result::gpu_is_lost);
    }
    return std::optional<event>{};
}

} // namespace fake_nvml
