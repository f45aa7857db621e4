#include "vgpusim/outputs/pods_csv.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "csv_numbers.hpp"

namespace vgpusim {

namespace {

void append_name(std::string& out, const arriving_pod& pod, const simulation_input& input) {
    out += input.names[pod.name];
    if (pod.copy < 0) return;
    out += "-tuned-";
    append_number(out, pod.copy);
}

} // namespace

void append_nodes(std::string& out, const outcome_row& row, const run_record& record) {
    bool first = true;
    for (const std::uint32_t pod : row.pods) {
        const std::uint32_t slot = record.result.pods[pod].booking;
        if (slot == no_booking) continue;
        if (!first) out += '|';
        first = false;
        out += record.ledger->nodes().nodes[record.ledger->bookings()[slot].where.node.at()].name;
    }
}

void append_gpus(std::string& out, const outcome_row& row, const run_record& record) {
    bool first = true;
    std::vector<std::size_t> gpus;
    for (const std::uint32_t pod : row.pods) {
        const std::uint32_t slot = record.result.pods[pod].booking;
        if (slot == no_booking) continue;
        if (!first) out += '/';
        first = false;
        gpus.clear();
        for (const auto& share : record.ledger->bookings()[slot].where.shares) gpus.push_back(share.device.at());
        if (const auto& beside = record.result.given_beyond.not_counted; beside.contains(pod)) {
            for (const auto device : beside.at(pod)) gpus.push_back(device.at());
        }
        std::ranges::sort(gpus);
        for (std::size_t g = 0; g < gpus.size(); ++g) {
            if (g > 0) out += '|';
            append_number(out, static_cast<std::int64_t>(gpus[g]));
        }
    }
}

std::string pods_csv(const run_record& record, const simulation_input& input, stop_signal stop) {
    const outcome_rows rows{record, input};
    std::string out = "order,name,node,gpus,placed,reason,arrival_s,start_s,end_s,attempts\n";
    out.reserve(rows.count() * 72);
    outcome_row row;
    for (std::size_t i = 0; i < rows.count() && !stop.poll(); ++i) {
        rows.read(i, row);
        append_number(out, static_cast<std::int64_t>(i));
        out += ',';
        append_name(out, input.pods[row.pods.front()], input);
        out += ',';
        append_nodes(out, row, record);
        out += ',';
        append_gpus(out, row, record);
        out += row.placed ? ",1," : ",0,";
        if (!row.placed) out += input.reason_name(row.reason);
        out += ',';
        if (!row.ran_before) append_time(out, row.arrival);
        out += ',';
        if (row.start) append_time(out, *row.start);
        out += ',';
        if (row.end) append_time(out, *row.end);
        out += ',';
        append_number(out, row.attempts);
        out += '\n';
    }
    return out;
}

} // namespace vgpusim
