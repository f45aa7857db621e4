// Decision logs of live schedulers: JSON lines in the order in which the core was told (docs/decision-log.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::decisions {

enum class event_kind : std::uint8_t {
    start,
    configure,
    tell,
    remove_node,
    remove_pod,
    remove_config_map,
    learn,
    decide,
    refuse,
    commit,
    rollback,
    release,
    suspend,
    resume,
};

/// As the log spells it.
[[nodiscard]] std::string_view to_string(event_kind kind) noexcept;

/// The nodes that a pod could go to: those of `only`, or else all but those of `except`. Both by name, sorted.
struct candidate_rule {
    bool is_listed = false; ///< `only` counts
    std::vector<std::string> only{};
    std::vector<std::string> except{};

    [[nodiscard]] bool admits(const std::string& node) const;
    auto operator<=>(const candidate_rule&) const = default;
};

struct log_event {
    event_kind kind = event_kind::start;
    std::size_t line = 0;
    std::string place;                             ///< "<file>:<line>"
    std::string library;                           ///< of start: the version that decided
    vgpualloc::live_option_texts options;          ///< of start and configure
    std::vector<kube::manifest> told{};            ///< of tell
    std::string name{};                            ///< of what is removed: a node's or ConfigMap's name
    std::string uid{};                             ///< of events about a pod
    std::string pod{};                             ///< of decide and refuse: "<namespace>/<name>"
    std::string node{};                            ///< of decide
    std::int64_t time = 0;                         ///< of start and decide: nanoseconds of Unix time
    candidate_rule candidates{};                   ///< of decide and refuse
    vgpualloc::kubernetes::text_map annotations{}; ///< of decide
    std::map<std::string, std::int64_t> reasons{}; ///< of refuse: nodes by reason
};

/// Walks the lines of `text`, which must outlive it. A line that was cut off because the scheduler was killed while it
/// wrote is passed by where it is the last one, or the one before a start.
class log_reader {
public:
    /// `name` is what errors call the text.
    log_reader(std::string name, std::string_view text) : name_{std::move(name)}, rest_{text} {}

    /// Goes to the next event; false at the end. Errors name file, line and member: those of parse_json() and
    /// read_manifests(), a member that is missing, of another type or out of range, an unknown event or reason, another
    /// version, a log that does not begin with a start.
    [[nodiscard]] expected<bool> next();
    [[nodiscard]] const log_event& event() const noexcept { return event_; }
    /// Lines that were cut off.
    [[nodiscard]] const std::vector<std::size_t>& cut_off() const noexcept { return cut_off_; }

private:
    [[nodiscard]] std::string_view take_line();
    [[nodiscard]] bool start_follows() const;

    std::string name_;
    std::string_view rest_;
    std::size_t line_ = 0;
    bool started_ = false;
    log_event event_;
    std::vector<std::size_t> cut_off_{};
};

} // namespace vgpuops::decisions
