#include "history.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data.hpp"
#include "differences.hpp"
#include "text.hpp"
#include "vgpualloc/core/hash.hpp"

namespace vgpureport {
namespace {

using vgpualloc::ticks;

constexpr std::size_t moments_least = 30;
constexpr std::size_t labels_max = 200; ///< the rarest beyond these are called "other"
constexpr std::size_t parts_max = 24;   ///< of one device: more cannot be told apart in its bar
constexpr std::int64_t other_label = -2;
constexpr std::int64_t stranded_label = -1;

/// The labels that the page has, most used first, and what it calls each of the run's.
struct label_ranks {
    std::vector<std::string_view> names;
    std::vector<std::int64_t> rank_of; ///< by the run's label
};

label_ranks rank_labels(const occupancy_history& history) {
    std::vector<std::int64_t> uses(history.labels.size(), 0);
    for (const history_event& event : history.events) {
        if (event.kind == history_event_kind::part_taken && event.part.label < uses.size()) ++uses[event.part.label];
    }
    std::vector<std::size_t> order(uses.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return uses[a] > uses[b]; });
    label_ranks result;
    result.rank_of.assign(uses.size(), other_label);
    for (const std::size_t label : order) {
        if (uses[label] == 0 || result.names.size() == labels_max) break;
        result.rank_of[label] = static_cast<std::int64_t>(result.names.size());
        result.names.push_back(history.labels[label]);
    }
    return result;
}

/// The moments of the picture, ascending. Where there are few changes, each has its own; else they are equally far
/// apart.
std::vector<ticks> moments_of(const report_run& run, std::size_t limit) {
    const auto& events = run.history.events;
    std::vector<ticks> result;
    for (const history_event& event : events) {
        if (result.size() > limit) break;
        if (result.empty() || result.back() < event.time) result.push_back(event.time);
    }
    if (result.size() > limit) {
        const std::int64_t first = events.front().time.count();
        const std::int64_t span = events.back().time.count() - first;
        const std::size_t steps = limit / 2 - 1;
        result.clear();
        for (std::size_t i = 0; i <= steps; ++i) {
            const auto part = static_cast<std::int64_t>(i);
            const auto whole = static_cast<std::int64_t>(steps);
            // The remainder is multiplied by itself: a span of ticks times a few hundred would be too large a number.
            result.emplace_back(first + span / whole * part + span % whole * part / whole);
            result.push_back(events[(events.size() - 1) * i / steps].time);
        }
    }
    if (run.shown_at && !result.empty()) result.push_back(std::clamp(*run.shown_at, result.front(), result.back()));
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

/// The digits of source maps: five bits each, the lowest first, and a sixth that says that more follow.
void append_variable_length(std::string& out, std::uint64_t value) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (value >= 32) {
        out += digits[static_cast<std::size_t>(value % 32 + 32)];
        value /= 32;
    }
    out += digits[static_cast<std::size_t>(value)];
}

/// What one cell looks like: slices, whether it is closed, milli-GPU in use, and first, length and label of each part.
using look = std::vector<std::int64_t>;

struct look_hash {
    std::size_t operator()(const look& shown) const noexcept {
        std::uint64_t hash = shown.size();
        for (const std::int64_t number : shown)
            hash = vgpualloc::hash_combine(hash, static_cast<std::uint64_t>(number));
        return static_cast<std::size_t>(hash);
    }
};

/// A device as the events have left it.
struct device_now {
    std::vector<device_part> parts;
    std::int32_t used_milli = 0;
    std::uint64_t stranded = 0;
    bool closed = false;
};

struct recorded {
    std::string looks;   ///< JSON arrays
    std::string changes; ///< variable-length numbers

    [[nodiscard]] std::size_t bytes() const noexcept { return looks.size() + changes.size(); }
};

/// Replays a run's events and writes down which cells look different from moment to moment.
class recorder {
public:
    recorder(const report_run& run, const occupancy_layout& layout, const label_ranks& ranks, bool with_parts)
        : run_{run}, layout_{layout}, ranks_{ranks}, with_parts_{with_parts && !layout.merged},
          devices_(with_parts_ ? layout.nodes_in_cell.size() : 0), sums_(layout.nodes_in_cell.size()),
          slices_(layout.nodes_in_cell.size()), written_(layout.nodes_in_cell.size()),
          is_changed_(layout.nodes_in_cell.size()) {
        number_of(look{0, 0, 0}); // what a cell is before anything is said of it
        offsets_.push_back(0);
        for (std::size_t node = 0; node < run.nodes.size(); ++node) {
            offsets_.push_back(offsets_.back() + run.nodes[node].used.size());
            for (std::size_t gpu = 0; gpu < run.nodes[node].slices.size(); ++gpu) {
                const std::uint32_t cell = cell_of(node, gpu);
                if (cell == not_drawn || layout.merged) continue;
                slices_[cell] = run.nodes[node].slices[gpu];
                note(cell);
            }
        }
        used_.resize(offsets_.back());
    }

    /// The cluster as report_run::nodes has it.
    void take_nodes() {
        for (std::size_t node = 0; node < run_.nodes.size(); ++node) {
            for (std::size_t gpu = 0; gpu < run_.nodes[node].used.size(); ++gpu) {
                set_used(
                    node, gpu,
                    static_cast<std::int32_t>(std::clamp<std::int64_t>(run_.nodes[node].used[gpu].count(), 0, 1000)));
            }
        }
    }

    void take(const history_event& event) {
        if (event.node >= run_.nodes.size()) return;
        const std::uint32_t cell = cell_of(event.node, event.device);
        if (cell == not_drawn) return;
        if (event.kind == history_event_kind::part_taken || event.kind == history_event_kind::part_given_back) {
            set_used(event.node, event.device, std::clamp(event.used_milli, 0, 1000));
        }
        if (!with_parts_) return;
        device_now& device = devices_[cell];
        const auto same = std::find(device.parts.begin(), device.parts.end(), event.part);
        switch (event.kind) {
        case history_event_kind::part_taken:
            device.parts.push_back(event.part);
            break;
        case history_event_kind::part_given_back:
            if (same != device.parts.end()) device.parts.erase(same);
            break;
        case history_event_kind::closed:
            device.closed = true;
            break;
        case history_event_kind::opened:
            device.closed = false;
            break;
        }
        device.stranded = event.stranded;
        note(cell);
    }

    /// Ends a moment.
    void write() {
        std::sort(changed_.begin(), changed_.end());
        std::vector<std::pair<std::uint32_t, std::uint32_t>> differing;
        for (const std::uint32_t cell : changed_) {
            is_changed_[cell] = false;
            const std::uint32_t number = number_of(look_of(cell));
            if (number == written_[cell]) continue;
            written_[cell] = number;
            differing.emplace_back(cell, number);
        }
        changed_.clear();
        append_variable_length(changes_, differing.size());
        std::uint32_t before = 0;
        for (const auto& [cell, number] : differing) {
            append_variable_length(changes_, cell - before);
            append_variable_length(changes_, number);
            before = cell;
        }
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return looks_json_.size() + changes_.size(); }
    [[nodiscard]] recorded take_result() && { return {std::move(looks_json_), std::move(changes_)}; }

private:
    [[nodiscard]] std::uint32_t cell_of(std::size_t node, std::size_t gpu) const {
        const std::uint32_t first = layout_.first_cell[node];
        if (first == not_drawn || gpu >= run_.nodes[node].used.size()) return not_drawn;
        return first + static_cast<std::uint32_t>(gpu);
    }

    void note(std::uint32_t cell) {
        if (is_changed_[cell]) return;
        is_changed_[cell] = true;
        changed_.push_back(cell);
    }

    void set_used(std::size_t node, std::size_t gpu, std::int32_t used) {
        const std::uint32_t cell = cell_of(node, gpu);
        if (cell == not_drawn) return;
        std::int32_t& before = used_[offsets_[node] + gpu];
        sums_[cell] += used - before;
        before = used;
        note(cell);
    }

    [[nodiscard]] look look_of(std::uint32_t cell) const {
        const std::int64_t nodes = layout_.nodes_in_cell[cell];
        const std::int64_t used = (sums_[cell] + nodes / 2) / nodes;
        if (!with_parts_) {
            // Few different looks, so that a large cluster's page stays small.
            constexpr std::int64_t step = 20;
            const bool is_whole_story = run_.history.events.empty();
            return {slices_[cell], 0, is_whole_story ? used : (used + step - 1) / step * step};
        }
        const device_now& device = devices_[cell];
        look result{slices_[cell], device.closed ? 1 : 0, used};
        const auto append = [&result](std::int64_t first, std::int64_t length, std::int64_t label) {
            result.insert(result.end(), {first, length, label});
        };
        std::int64_t others = 0;
        for (std::size_t i = 0; i < device.parts.size(); ++i) {
            const device_part& part = device.parts[i];
            const bool is_known = part.label < ranks_.rank_of.size();
            if (i >= parts_max && slices_[cell] == 0) {
                others += part.length;
            } else {
                append(slices_[cell] == 0 ? 0 : part.first, part.length,
                       is_known ? ranks_.rank_of[part.label] : other_label);
            }
        }
        if (others > 0) append(0, others, other_label);
        for (std::int64_t slice = 0; slice < std::min<std::int64_t>(slices_[cell], 64); ++slice) {
            if ((device.stranded >> static_cast<unsigned>(slice) & 1U) != 0) append(slice, 1, stranded_label);
        }
        return result;
    }

    std::uint32_t number_of(const look& shown) {
        const auto [entry, is_new] = numbers_.try_emplace(shown, static_cast<std::uint32_t>(numbers_.size()));
        if (is_new) {
            looks_json_ += looks_json_.empty() ? "[" : ",[";
            for (const std::int64_t number : shown) {
                if (looks_json_.back() != '[') looks_json_ += ',';
                append_integer(looks_json_, number);
            }
            looks_json_ += ']';
        }
        return entry->second;
    }

    const report_run& run_;
    const occupancy_layout& layout_;
    const label_ranks& ranks_;
    bool with_parts_;
    std::vector<device_now> devices_;    ///< by cell; empty where parts are left out
    std::vector<std::int64_t> sums_;     ///< by cell, milli-GPU in use of all its nodes
    std::vector<std::int64_t> slices_;   ///< by cell
    std::vector<std::uint32_t> written_; ///< by cell, its look at the last moment
    std::vector<bool> is_changed_;       ///< by cell, whether it is in changed_
    std::vector<std::uint32_t> changed_; ///< cells since the last moment
    std::vector<std::size_t> offsets_;   ///< by node, of its first GPU in used_
    std::vector<std::int32_t> used_;     ///< by GPU
    std::unordered_map<look, std::uint32_t, look_hash> numbers_;
    std::string looks_json_;
    std::string changes_;
};

/// Stops early where more than `bytes_max` comes together, or an end is wanted.
recorded record(const report_run& run, const occupancy_layout& layout, const label_ranks& ranks,
                const std::vector<ticks>& moments, bool with_parts, std::size_t bytes_max,
                vgpualloc::stop_signal stop) {
    recorder cells{run, layout, ranks, with_parts};
    if (run.history.events.empty()) {
        cells.take_nodes();
        cells.write();
        return std::move(cells).take_result();
    }
    auto event = run.history.events.begin();
    for (const ticks moment : moments) {
        for (; event != run.history.events.end() && event->time <= moment; ++event) {
            if (stop.poll()) return std::move(cells).take_result();
            cells.take(*event);
        }
        cells.write();
        if (cells.bytes() > bytes_max) break;
    }
    return std::move(cells).take_result();
}

/// The sample that holds at a moment; null before the first one.
const report_sample* sample_at(const report_run& run, ticks moment) {
    const auto after = std::upper_bound(run.samples.begin(), run.samples.end(), moment,
                                        [](ticks time, const report_sample& sample) { return time < sample.time; });
    return after == run.samples.begin() ? nullptr : &*std::prev(after);
}

} // namespace

void append_history(std::string& out, const report_run& run, const occupancy_layout& layout, ticks start,
                    std::size_t bytes_max, const vgpualloc::stop_signal& stop) {
    const label_ranks ranks = rank_labels(run.history);
    std::size_t limit = moments_max;
    bool with_parts = !run.history.events.empty() && !layout.merged;
    auto moments = moments_of(run, limit);
    auto cells = record(run, layout, ranks, moments, with_parts, bytes_max, stop);
    while (cells.bytes() > bytes_max && (limit > moments_least || with_parts)) {
        if (limit > moments_least) {
            limit /= 2;
        } else {
            with_parts = false;
        }
        moments = moments_of(run, limit);
        // The last attempt is taken as it is, whatever its size.
        const bool is_last = limit <= moments_least && !with_parts;
        constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
        cells = record(run, layout, ranks, moments, with_parts, is_last ? no_limit : bytes_max, stop);
    }
    const auto shown = run.shown_at ? std::upper_bound(moments.begin(), moments.end(), *run.shown_at) : moments.end();
    out += '{';
    append_member(out, "shown", std::max<std::int64_t>(0, shown - moments.begin() - 1));
    out += with_parts ? ",\"parts\":true" : ",\"parts\":false";
    append_differences(out, "time", moments, [start](ticks moment) {
        return (moment - start).count() / (vgpualloc::ticks_per_second.count() / 1000);
    });
    const auto append_shares = [&](std::string_view name, vgpualloc::milli_gpu report_sample::* amount) {
        append_differences(out, name, moments, [&run, amount](ticks moment) {
            const report_sample* sample = sample_at(run, moment);
            return sample == nullptr ? 0 : milli_percent(sample->*amount, run.total);
        });
    };
    append_shares("load", &report_sample::arrived);
    append_shares("allocated", &report_sample::allocated);
    out += ",\"labels\":[";
    for (const std::string_view name : ranks.names) {
        if (out.back() != '[') out += ',';
        append_json(out, name);
    }
    out += "],\"looks\":[" + cells.looks + "],\"changes\":\"" + cells.changes + "\"}";
}

} // namespace vgpureport
