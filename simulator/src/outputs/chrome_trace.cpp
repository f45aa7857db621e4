// The format: "Trace Event Format", Google, the document that Perfetto's own pages name as its reference.
#include "vgpusim/outputs/chrome_trace.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "csv_numbers.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/outputs/history.hpp"

namespace vgpusim {

namespace {

void append_text(std::string& out, std::string_view text) { out += vgpuformats::print_json(document{text}); }

/// Simulated time counts in microseconds, as the format does.
void append_microseconds(std::string& out, ticks time) {
    static_assert(ticks_per_second.count() == 1'000'000);
    append_number(out, time.count());
}

void open_event(std::string& out, std::string_view phase, std::size_t process, std::size_t thread) {
    out += out.back() == '[' ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    out += phase;
    out += "\",\"pid\":";
    append_number(out, static_cast<std::int64_t>(process));
    out += ",\"tid\":";
    append_number(out, static_cast<std::int64_t>(thread));
}

void append_name(std::string& out, std::string_view what, std::size_t process, std::size_t thread,
                 std::string_view name) {
    open_event(out, "M", process, thread);
    out.append(",\"name\":\"").append(what).append("\",\"args\":{\"name\":");
    append_text(out, name);
    out += "}}";
}

void append_order(std::string& out, std::string_view what, std::size_t process, std::size_t thread) {
    open_event(out, "M", process, thread);
    out.append(",\"name\":\"").append(what).append("\",\"args\":{\"sort_index\":");
    append_number(out, static_cast<std::int64_t>(what == "process_sort_index" ? process : thread));
    out += "}}";
}

// Process 0 has what counts for the whole cluster.
constexpr std::size_t cluster_process = 0;
std::size_t process_of(std::uint32_t node) { return std::size_t{node} + 1; }

/// Threads of the nodes: for every device as many as there are spans on it at a time.
class thread_table {
public:
    /// The thread for a span that begins no earlier than all before it.
    [[nodiscard]] std::size_t thread_for(const trace_span& span) {
        auto& lanes = ends_[{span.node, span.device}];
        auto lane = std::find_if(lanes.begin(), lanes.end(), [&](ticks end) { return end <= span.start; });
        if (lane == lanes.end()) lane = lanes.insert(lanes.end(), span.end);
        *lane = span.end;
        return number(span.device, static_cast<std::size_t>(lane - lanes.begin()));
    }

    void append_names(std::string& out) const {
        for (const auto& [place, lanes] : ends_) {
            const auto [node, device] = place;
            for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
                std::string name = device == no_device ? "no GPU" : "GPU " + std::to_string(device);
                if (lane > 0) name += " · " + std::to_string(lane + 1);
                const std::size_t thread = number(device, lane);
                append_name(out, "thread_name", process_of(node), thread, name);
                append_order(out, "thread_sort_index", process_of(node), thread);
            }
        }
    }

private:
    static std::size_t number(std::uint32_t device, std::size_t lane) {
        constexpr std::size_t lanes_max = 10'000;
        return std::size_t{device} * lanes_max + lane + 1;
    }

    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ticks>> ends_; ///< by node and device
};

void append_span(std::string& out, const trace_span& span, std::size_t thread) {
    open_event(out, "X", process_of(span.node), thread);
    out += ",\"ts\":";
    append_microseconds(out, span.start);
    out += ",\"dur\":";
    append_microseconds(out, span.end - span.start);
    out += ",\"name\":";
    append_text(out, span.name);
    out += ",\"cat\":\"pod\",\"args\":{";
    for (const auto& [key, value] : span.facts) {
        if (out.back() != '{') out += ',';
        append_text(out, key);
        out += ':';
        append_text(out, value);
    }
    out += "}}";
}

void append_counter(std::string& out, const trace_counter& counter) {
    constexpr std::size_t values_max = 100'000;
    const std::size_t step = counter.values.size() / values_max + 1;
    double before = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < counter.values.size(); i += step) {
        const auto& [time, value] = counter.values[i];
        if (value == before) continue;
        before = value;
        open_event(out, "C", cluster_process, 0);
        out += ",\"ts\":";
        append_microseconds(out, time);
        out += ",\"name\":";
        append_text(out, counter.name);
        out += ",\"args\":{\"value\":";
        append_fixed<3>(out, static_cast<std::int64_t>(std::max(0.0, value) * 1000.0 + 0.5));
        out += "}}";
    }
}

} // namespace

std::string chrome_trace(const trace_contents& contents, stop_signal stop) {
    std::string out{trace_beginning};
    out += ",\"pods\":\"";
    out += contents.kept_of == 1 ? "all" : "one of " + std::to_string(contents.kept_of);
    out += "\"},\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    append_name(out, "process_name", cluster_process, 0, "cluster");
    append_order(out, "process_sort_index", cluster_process, 0);
    for (std::uint32_t node = 0; node < contents.nodes.size(); ++node) {
        append_name(out, "process_name", process_of(node), 0, contents.nodes[node]);
        append_order(out, "process_sort_index", process_of(node), 0);
    }
    thread_table threads;
    for (const trace_span& span : contents.spans) {
        if (stop.poll()) break;
        append_span(out, span, threads.thread_for(span));
    }
    threads.append_names(out);
    for (const trace_counter& counter : contents.counters) append_counter(out, counter);
    out += "\n]}\n";
    return out;
}

namespace {

/// Goes through the log and notes from when to when each booking lasted.
class span_collector {
public:
    span_collector(const run_record& record, const simulation_input& input, std::size_t kept_of,
                   const stop_signal& stop)
        : book_{*record.ledger}, input_{input}, kept_of_{kept_of}, stop_{stop},
          row_of_(book_.nodes().nodes.size(), not_listed) {
        for (std::uint32_t row = 0; row < input.node_list_order.size(); ++row) {
            row_of_[input.node_list_order[row]] = row;
        }
        if (input.queues.empty() || input.jobs.empty()) return;
        queue_of_.resize(input.pods.size());
        for (const job& group : input.jobs) {
            for (std::uint32_t i = group.first; i < group.first + group.pods; ++i) {
                queue_of_[input.members[i]] = group.queue;
            }
        }
    }

    std::vector<trace_span> collect(event_clock::reader times) && {
        const vgpualloc::ledger_log log = book_.log();
        std::vector<span_range> open(log.bookings.size()); // by slot of the booking
        ticks now;
        for (std::size_t i = 0; i < log.events.size() && !stop_.poll(); ++i) {
            const vgpualloc::ledger_event& event = log.events[i];
            if (event.undone || event.undoes || !vgpualloc::is_of_booking(event.kind)) continue;
            now = times.time_of(book_.first_event() + i);
            span_range& spans = open[event.subject];
            if (vgpualloc::books(event.kind)) {
                spans = begin(log.bookings[event.subject], now);
            } else if (vgpualloc::gives_back(event.kind)) {
                // What was taken back before it started, as a gang that did not fit, did not run.
                const bool ran = event.kind == vgpualloc::ledger_event_kind::release;
                end(spans, now);
                for (std::size_t n = spans.first; !ran && n < spans.end; ++n) spans_[n].name.clear();
                spans = {};
            }
        }
        for (const span_range& spans : open) end(spans, now); // what never ends lasts until the run does
        std::erase_if(spans_, [](const trace_span& span) { return span.name.empty(); });
        return std::move(spans_);
    }

private:
    static constexpr std::uint32_t not_listed = std::numeric_limits<std::uint32_t>::max();

    /// The spans of one booking, which follow each other.
    struct span_range {
        std::size_t first = 0;
        std::size_t end = 0;
    };

    void end(const span_range& spans, ticks now) {
        for (std::size_t n = spans.first; n < spans.end; ++n) spans_[n].end = now;
    }

    span_range begin(const vgpualloc::booking& entry, ticks now) {
        const span_range none;
        const std::size_t pod = entry.owner.at();
        const std::uint32_t row = row_of_[entry.where.node.at()];
        if (pod >= input_.pods.size() || pod % kept_of_ != 0 || row == not_listed) return none;
        // One span for each device, however many containers of the pod are on it.
        std::map<std::uint32_t, std::string> parts;
        for (const auto& share : entry.where.shares) {
            std::string& text = parts[static_cast<std::uint32_t>(share.device.at())];
            text += (text.empty() ? "" : ", ") + describe_part(entry.where.node, share);
        }
        if (parts.empty()) parts.emplace(no_device, "");
        for (auto& [device, text] : parts) {
            trace_span span;
            span.node = row;
            span.device = device;
            span.name = input_.name_of(input_.pods[pod]);
            span.start = span.end = now;
            span.facts.emplace_back("request", class_name(input_, input_.pods[pod].request));
            if (!queue_of_.empty()) span.facts.emplace_back("queue", input_.queues[queue_of_[pod]].name);
            if (!text.empty()) span.facts.emplace_back("parts", std::move(text));
            spans_.push_back(std::move(span));
        }
        return {spans_.size() - parts.size(), spans_.size()};
    }

    [[nodiscard]] std::string describe_part(node_index node, const vgpualloc::device_share& share) const {
        const vgpualloc::device_spec& spec = book_.nodes().spec_of(node, share.device);
        const vgpualloc::part_description part = spec.mode->describe(spec, share.part);
        if (const auto* instance = std::get_if<vgpualloc::mig_instance>(&share.part)) {
            return part.name + " at " + std::to_string(instance->start);
        }
        if (!part.name.empty()) return part.name;
        // A share of the device, since the memory that a list does not know is made up.
        const auto alone = spec.mode->with(spec, vgpualloc::device_state{}, share.part);
        return std::to_string(spec.mode->used(spec, alone).count()) + " milli-GPU";
    }

    const vgpualloc::ledger& book_;
    const simulation_input& input_;
    std::size_t kept_of_;
    stop_signal stop_;
    std::vector<std::uint32_t> row_of_;   ///< by node, its line in the node list
    std::vector<std::uint32_t> queue_of_; ///< by pod; empty where there are no queues
    std::vector<trace_span> spans_;
};

} // namespace

trace_contents trace_of(const run_record& record, const simulation_input& input, std::size_t spans_max,
                        const stop_signal& stop) {
    std::size_t spans = 0;
    for (const vgpualloc::booking& entry : record.ledger->bookings()) {
        spans += std::max<std::size_t>(1, entry.where.shares.size());
    }
    trace_contents contents;
    contents.kept_of = spans / std::max<std::size_t>(1, spans_max) + 1;
    for (const std::uint32_t node : input.node_list_order) {
        contents.nodes.push_back(record.ledger->nodes().nodes[node].name);
    }
    contents.spans =
        span_collector{record, input, contents.kept_of, stop}.collect(event_clock::reader{record.result.clock});
    if (stop.raised()) return contents;
    trace_counter allocated{"GPUs allocated", {}};
    trace_counter served{"GPUs served", {}};
    for (const sample& moment : record.result.samples) {
        allocated.values.emplace_back(moment.time, static_cast<double>(moment.allocated_milli) / 1000.0);
        served.values.emplace_back(moment.time, static_cast<double>(requested_table::milli_of_units(
                                                    moment.served.larger(), record.requested_whole)) /
                                                    1000.0);
    }
    contents.counters = {std::move(allocated), std::move(served)};
    if (record.result.times.empty()) return contents;
    trace_counter waiting{"jobs in the queue", {}};
    for (const sample& moment : record.result.samples) {
        waiting.values.emplace_back(moment.time, static_cast<double>(moment.waiting));
    }
    contents.counters.push_back(std::move(waiting));
    return contents;
}

} // namespace vgpusim
