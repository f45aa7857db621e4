#include "vgpusim/outputs/history.hpp"

#include <cstddef>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpualloc/mode/mig.hpp"

namespace vgpusim {

using vgpualloc::device_spec;
using vgpualloc::device_state;
using vgpualloc::partition;
using vgpureport::history_event;
using vgpureport::history_event_kind;

namespace {

/// The mode of a GPU whose instances have places on a grid; null for any other device.
const vgpualloc::modes::mig* grid_of(const device_spec& spec) {
    return dynamic_cast<const vgpualloc::modes::mig*>(spec.mode);
}

std::uint64_t slices_from(std::uint64_t first, std::uint64_t length) {
    return length >= 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << length) - 1) << first;
}

/// What the parts of one kind of device look like. Everything is asked of the mode once and remembered.
class device_kind {
public:
    explicit device_kind(const device_spec& spec) : spec_{&spec}, grid_{grid_of(spec)} {}

    [[nodiscard]] const device_spec& spec() const noexcept { return *spec_; }
    [[nodiscard]] const vgpualloc::modes::mig* grid() const noexcept { return grid_; }

    /// Slices of the grid, or thousandths of the device.
    [[nodiscard]] vgpureport::device_part part_of(const partition& part) const {
        if (const auto* instance = std::get_if<vgpualloc::mig_instance>(&part);
            instance != nullptr && grid_ != nullptr) {
            const auto size = grid_->model().profiles[instance->profile].size;
            return {.first = static_cast<std::uint16_t>(instance->start),
                    .length = static_cast<std::uint16_t>(size.count()),
                    .label = 0};
        }
        const device_state alone = spec_->mode->with(*spec_, device_state{}, part);
        return {.first = 0, .length = static_cast<std::uint16_t>(spec_->mode->used(*spec_, alone).count()), .label = 0};
    }

    /// Free slices that no instance of any profile could have.
    [[nodiscard]] std::uint64_t stranded(const device_state& state) {
        if (grid_ == nullptr) return 0;
        const auto [known, is_new] = stranded_.try_emplace(state.layout, 0);
        if (is_new) known->second = count_stranded(state);
        return known->second;
    }

private:
    [[nodiscard]] std::uint64_t count_stranded(const device_state& state) const {
        const vgpualloc::mig_model& model = grid_->model();
        const std::uint64_t all = slices_from(0, static_cast<std::uint64_t>(model.units.count()));
        std::uint64_t used = 0;
        std::uint64_t of_use = 0;
        for (std::uint32_t profile = 0; profile < model.profiles.size(); ++profile) {
            for (const auto start : model.profiles[profile].starts) {
                const partition place =
                    vgpualloc::mig_instance{.profile = profile, .start = static_cast<std::uint32_t>(start.count())};
                const std::uint64_t slices =
                    slices_from(static_cast<std::uint64_t>(start.count()),
                                static_cast<std::uint64_t>(model.profiles[profile].size.count()));
                if (grid_->why_not(*spec_, state, place).code == rejection_code::none) {
                    of_use |= slices;
                } else if ((grid_->with(*spec_, device_state{}, place).layout & state.layout) != 0) {
                    used |= slices;
                }
            }
        }
        return all & ~used & ~of_use;
    }

    const device_spec* spec_;
    const vgpualloc::modes::mig* grid_;
    std::unordered_map<std::uint64_t, std::uint64_t> stranded_;
};

/// What the picture calls a part that has no name of its own.
std::string request_label(const simulation_input& input, std::uint32_t request) {
    const std::string name = class_name(input, request);
    if (!input.request_names.empty()) return name;
    return name == "1" || name == "a part of one" ? name + " GPU" : name + " GPUs";
}

/// Goes through the log and keeps the state of every device.
class log_reader {
public:
    log_reader(const run_record& record, const simulation_input& input, const stop_signal& stop)
        : book_{*record.ledger}, input_{input}, stop_{stop}, time_{record.result.clock},
          row_of_(book_.nodes().nodes.size(), absent) {
        for (std::size_t row = 0; row < input.node_list_order.size(); ++row) {
            row_of_[input.node_list_order[row]] = static_cast<std::uint32_t>(row);
        }
        const vgpualloc::cluster& cluster = book_.nodes();
        for (const device_spec& spec : cluster.kinds) kinds_.emplace_back(spec);
        first_device_.push_back(0);
        for (const auto& node : cluster.nodes) first_device_.push_back(first_device_.back() + node.devices.size());
        states_.resize(first_device_.back());
        closed_.resize(first_device_.back());
    }

    vgpureport::occupancy_history read() && {
        const vgpualloc::ledger_log log = book_.log();
        for (std::size_t i = 0; i < log.events.size() && !stop_.poll(); ++i) {
            const vgpualloc::ledger_event& event = log.events[i];
            if (event.undone || event.undoes) continue;
            now_ = time_.time_of(book_.first_event() + i);
            if (vgpualloc::books(event.kind) || vgpualloc::gives_back(event.kind)) {
                take(log.bookings[event.subject], vgpualloc::books(event.kind));
            } else if (vgpualloc::is_of_node(event.kind)) {
                take(event.kind, book_.change(event));
            }
        }
        return std::move(history_);
    }

private:
    static constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max(); ///< in no line of the list

    void take(const vgpualloc::booking& entry, bool is_taken) {
        const std::size_t node = entry.where.node.at();
        for (const vgpualloc::device_share& share : entry.where.shares) {
            const std::size_t device = share.device.at();
            device_kind& kind = kinds_[book_.nodes().nodes[node].devices[device].kind];
            device_state& state = states_[first_device_[node] + device];
            const device_spec& spec = kind.spec();
            state = is_taken ? spec.mode->with(spec, state, share.part) : spec.mode->without(spec, state, share.part);
            history_event event = event_on(node, device);
            event.kind = is_taken ? history_event_kind::part_taken : history_event_kind::part_given_back;
            event.part = kind.part_of(share.part);
            event.part.label = label_of(kind, share.part, entry.owner.pod());
            event.used_milli = static_cast<std::int32_t>(spec.mode->used(spec, state).count());
            event.stranded = kind.stranded(state);
            if (event.node != absent) history_.events.push_back(event);
        }
    }

    void take(vgpualloc::ledger_event_kind kind, const vgpualloc::node_change& change) {
        const std::size_t node = change.where.at();
        if (node >= row_of_.size()) return;
        if (kind == vgpualloc::ledger_event_kind::service_changed) {
            close(node, change.device.at(), change.service != vgpualloc::service_state::in_service);
            return;
        }
        const bool is_closed = kind == vgpualloc::ledger_event_kind::node_removed ||
                               (change.described && change.described->host.unschedulable);
        for (std::size_t d = 0; d < first_device_[node + 1] - first_device_[node]; ++d) close(node, d, is_closed);
    }

    void close(std::size_t node, std::size_t device, bool is_closed) {
        const std::size_t place = first_device_[node] + device;
        if (closed_[place] == is_closed || row_of_[node] == absent) return;
        closed_[place] = is_closed;
        device_kind& kind = kinds_[book_.nodes().nodes[node].devices[device].kind];
        history_event event = event_on(node, device);
        event.kind = is_closed ? history_event_kind::closed : history_event_kind::opened;
        event.used_milli = static_cast<std::int32_t>(kind.spec().mode->used(kind.spec(), states_[place]).count());
        event.stranded = kind.stranded(states_[place]);
        history_.events.push_back(event);
    }

    [[nodiscard]] history_event event_on(std::size_t node, std::size_t device) const {
        history_event event;
        event.time = now_;
        event.node = row_of_[node];
        event.device = static_cast<std::uint16_t>(device);
        return event;
    }

    [[nodiscard]] std::uint32_t label_of(const device_kind& kind, const partition& part, pod_id pod) {
        if (std::holds_alternative<vgpualloc::mig_instance>(part) ||
            std::holds_alternative<vgpualloc::vir_template>(part)) {
            return label(kind.spec().mode->describe(kind.spec(), part).name);
        }
        if (pod.at() >= input_.pods.size()) return label("copy of a pod that moves");
        const std::uint32_t request = input_.pods[pod.at()].request;
        const auto [known, is_new] = label_of_request_.try_emplace(request, 0);
        if (is_new) known->second = label(request_label(input_, request));
        return known->second;
    }

    [[nodiscard]] std::uint32_t label(std::string name) {
        const auto [known, is_new] = labels_.try_emplace(std::move(name), static_cast<std::uint32_t>(labels_.size()));
        if (is_new) history_.labels.push_back(known->first);
        return known->second;
    }

    const vgpualloc::ledger& book_;
    const simulation_input& input_;
    stop_signal stop_;
    event_clock::reader time_;
    ticks now_;
    std::vector<std::uint32_t> row_of_; ///< by node, its line in the node list
    std::vector<device_kind> kinds_;
    std::vector<std::size_t> first_device_; ///< by node, position in states_
    std::vector<device_state> states_;
    std::vector<bool> closed_;
    std::map<std::string, std::uint32_t> labels_;
    std::unordered_map<std::uint32_t, std::uint32_t> label_of_request_;
    vgpureport::occupancy_history history_;
};

} // namespace

std::string class_name(const simulation_input& input, std::uint32_t request) {
    if (!input.request_names.empty()) return input.request_names[request];
    std::int64_t gpus = 0;
    for (const auto& container : input.requests[request].containers) gpus += container.count;
    if (gpus == 1 && input.requested[request].larger() < input.requested.whole()) return "a part of one";
    return gpus == 0 ? "none" : std::to_string(gpus);
}

std::uint16_t slices_of(const device_spec& spec) {
    const auto* grid = grid_of(spec);
    return grid == nullptr ? std::uint16_t{0} : static_cast<std::uint16_t>(grid->model().units.count());
}

vgpureport::occupancy_history history_of(const run_record& record, const simulation_input& input,
                                         const stop_signal& stop) {
    return log_reader{record, input, stop}.read();
}

} // namespace vgpusim
