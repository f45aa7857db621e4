#include "vgpusim/outputs/pods_csv.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "csv_numbers.hpp"

namespace vgpusim {

std::string pods_csv(const run_record& record, const simulation_input& input) {
    std::string out = "order,name,node,gpus,placed,reason\n";
    out.reserve(input.pods.size() * 56);
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const pod_outcome& outcome = record.result.pods[i];
        append_number(out, static_cast<std::int64_t>(i));
        out += ',';
        out += input.names[input.pods[i].name];
        if (input.pods[i].copy >= 0) {
            out += "-tuned-";
            append_number(out, input.pods[i].copy);
        }
        out += ',';
        if (outcome.booking == no_booking) {
            out += ",,0,";
            out += input.reason_name(outcome.reason);
        } else {
            const auto& where = record.ledger->bookings()[outcome.booking].where;
            out += record.ledger->nodes().nodes[where.node.at()].name;
            out += ',';
            gpus.clear();
            for (const auto& share : where.shares) gpus.push_back(share.device.at());
            std::ranges::sort(gpus);
            for (std::size_t g = 0; g < gpus.size(); ++g) {
                if (g > 0) out += '|';
                append_number(out, static_cast<std::int64_t>(gpus[g]));
            }
            out += ",1,";
        }
        out += '\n';
    }
    return out;
}

} // namespace vgpusim
