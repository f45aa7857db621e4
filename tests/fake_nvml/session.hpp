// What a process that uses the library has: how often it initialised it, the handles it was given, the faults that it
// has met, and its event sets. Calls may come from any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nvml_abi.hpp"
#include "store.hpp"

namespace fake_nvml {

enum class handle_kind { device, unreadable, mig_device, gpu_instance, compute_instance };

/// What a caller's pointer stands for. A handle is never taken back: the same thing has the same one each time.
struct handle {
    handle_kind kind = handle_kind::device;
    std::string uuid = {}; ///< of the GPU
    std::uint32_t gi = 0;
    std::uint32_t ci = 0;

    auto operator<=>(const handle&) const = default;
};

struct event_set {
    std::map<std::string, std::uint64_t, std::less<>> types; ///< by the GPU's uuid
    std::size_t next = 0;                                    ///< position in machine::events
};

class session {
public:
    /// The one of this process.
    [[nodiscard]] static session& of_process();

    [[nodiscard]] result start(std::string_view call);
    [[nodiscard]] result stop();

    /// A call begins: the machine as it is, or why the call ends here: not initialised, no state file, a fault. Waits
    /// where the fault says so.
    struct begun {
        std::shared_ptr<const machine> host = nullptr;
        result code = result::success;
        bool carried_out = true; ///< false: `code` is the answer, by a fault
        bool kill_after = false;
        bool faulty = false; ///< it met a fault
    };
    [[nodiscard]] begun begin(std::string_view call, std::string_view uuid);
    /// The call has been carried out, with this result.
    void end(const begun& from, std::string_view call, std::string_view uuid, result code);

    /// Changes the machine; `line` of the outcome goes to the log.
    [[nodiscard]] result change(const std::function<store::outcome(machine&)>& change);

    [[nodiscard]] const handle* handle_of(const handle& wanted);
    /// What a pointer stands for; null if nobody was given it.
    [[nodiscard]] const handle* known(const void* pointer);

    [[nodiscard]] event_set* add_event_set();
    [[nodiscard]] result free_event_set(const void* pointer);
    [[nodiscard]] result watch(const void* set, const std::string& uuid, std::uint64_t types);
    /// The next event of a set, or nothing; an error if the set is not there, a GPU of it is lost, or as begin() says.
    [[nodiscard]] vgpualloc::expected<std::optional<event>, result> next_event(const void* set);

private:
    [[nodiscard]] vgpualloc::expected<std::shared_ptr<const machine>, result> current();
    [[nodiscard]] std::optional<fault> met(const machine& host, std::string_view call, std::string_view uuid);

    std::mutex mutex_;
    int started_ = 0;
    std::optional<store> store_;
    std::set<handle> handles_; ///< whose elements stay where they are
    std::map<const void*, std::unique_ptr<event_set>> sets_;
};

} // namespace fake_nvml
