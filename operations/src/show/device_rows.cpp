// GPUs by pool, kind, node or label.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "overview_parts.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::show {

namespace {

enum part : std::size_t { used, free_now, out };

/// A row that is being filled, and its devices.
struct growing_row {
    device_row row;
    std::vector<device_place> devices;
};

/// Why nobody can have what is free of a device; empty: somebody can.
std::string why_out(const vgpualloc::host_facts& host, vgpualloc::service_state service) {
    if (!host.ready) return "not ready";
    if (host.unschedulable) return "cordoned";
    switch (service) {
    case vgpualloc::service_state::in_service:
        break;
    case vgpualloc::service_state::draining:
        return "draining";
    case vgpualloc::service_state::failed:
        return "unhealthy";
    case vgpualloc::service_state::reconfiguring:
        return "being cut";
    }
    return {};
}

/// Takes out the labels that a node does not have with the same value.
void keep_common(const vgpualloc::node& node, std::map<std::string, std::string>& labels) {
    std::erase_if(labels, [&](const auto& entry) {
        const std::string* const value = node.host.label(entry.first);
        return value == nullptr || *value != entry.second;
    });
}

class device_counter {
public:
    device_counter(const kube::snapshot& state, const grouping& by) : state_{&state}, by_{&by} {
        for (const auto& devices : state.devices) {
            for (const kube::snapshot_device& device : devices) models_.add(device.registered.model);
        }
    }

    void add_node(node_index where) {
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        const std::string key = key_of(node);
        for (std::size_t d = 0; d < node.devices.size(); ++d) {
            const kube::snapshot_device& device = state_->device(where, device_index{d});
            const std::string sharing = sharing_name(node, device);
            std::string kind = models_.name_of(device.registered.model) + " " + sharing;
            growing_row& entry = rows_[{key, kind}];
            entry.row.key = key;
            entry.row.kind = std::move(kind);
            entry.row.model = device.registered.model;
            entry.row.sharing = sharing;
            if (entry.row.nodes.empty() || entry.row.nodes.back() != node.name) add_host(where, entry.row);
            add_device({where, device_index{d}}, entry);
            add_seen({where, device_index{d}}, entry.row);
        }
        add_busy(where);
    }

    [[nodiscard]] std::vector<device_row> take() {
        std::vector<device_row> result;
        for (auto& [key, entry] : rows_) {
            entry.row.largest = largest_of(*state_, entry.devices);
            std::ranges::sort(entry.row.nodes);
            std::ranges::sort(entry.row.out_because);
            result.push_back(std::move(entry.row));
        }
        std::ranges::stable_sort(result, {}, [](const device_row& row) -> const auto& { return row.nodes.front(); });
        return result;
    }

    [[nodiscard]] std::vector<node_devices> nodes_seen() { return std::move(nodes_seen_); }

    /// The models, by name.
    [[nodiscard]] std::vector<model_use> models() const {
        std::vector<model_use> result;
        for (const auto& [model, amounts] : uses_) {
            result.push_back(amounts);
            result.back().name = models_.name_of(model);
            result.back().model = model;
        }
        std::ranges::sort(result, {}, [](const model_use& use) { return std::tie(use.name, use.model); });
        return result;
    }

private:
    [[nodiscard]] std::string key_of(const vgpualloc::node& node) const {
        if (by_->rows == row_kind::pool) return pool_of(node);
        if (by_->rows == row_kind::node) return node.name;
        if (by_->rows != row_kind::label) return {};
        const std::string* const value = node.host.label(by_->name);
        return value == nullptr ? std::string{} : *value;
    }

    void add_host(node_index where, device_row& to) const {
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        const vgpualloc::host_use& used_there = state_->book->host(where);
        if (to.nodes.empty()) to.labels.insert(node.host.labels.begin(), node.host.labels.end());
        keep_common(node, to.labels);
        to.nodes.push_back(node.name);
        to.cpu_milli += node.cpu.count();
        to.cpu_used_milli += used_there.cpu.count();
        to.host_memory_mib += vgpualloc::mib_up(node.memory);
        to.host_memory_used_mib += vgpualloc::mib_up(used_there.memory);
    }

    void add_device(const device_place& place, growing_row& to) {
        const auto& [where, which] = place;
        const vgpualloc::device_spec& spec = state_->nodes().spec_of(where, which);
        const vgpualloc::device_state& now = state_->book->devices(where)[which.at()];
        const std::int64_t used_milli = spec.mode->used(spec, now).count();
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        const std::string because = why_out(node.host, state_->book->services(where)[which.at()]);
        const std::int64_t idle = vgpualloc::whole_gpu.count() - used_milli;
        const vgpualloc::use_vector amounts = spec.mode->use(spec, now);
        model_use& of_model = uses_[state_->device(where, which).registered.model];
        ++of_model.gpus;
        of_model.parts[part::used] += used_milli;
        of_model.parts[because.empty() ? part::free_now : part::out] += idle;
        ++to.row.gpus;
        to.row.parts[part::used] += used_milli;
        to.row.parts[because.empty() ? part::free_now : part::out] += idle;
        to.row.memory_mib += spec.memory.count();
        to.row.memory_used_mib += amounts.memory.count();
        to.row.cores += spec.cores.count();
        to.row.cores_used += amounts.compute.count();
        to.devices.push_back(place);
        if (because.empty() || idle == 0) return;
        const std::pair reason{because, node.name};
        if (to.row.out_because.empty() || to.row.out_because.back() != reason) to.row.out_because.push_back(reason);
    }

    /// Adds a device to those of its kind on its node.
    void add_seen(const device_place& place, const device_row& row) {
        const auto& [where, which] = place;
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        const vgpualloc::device_spec& spec = state_->nodes().spec_of(where, which);
        const auto is_same = [&](const node_devices& other) { return other.kind == row.kind; };
        if (which == device_index{0}) first_of_node_ = nodes_seen_.size();
        const auto first = nodes_seen_.begin() + static_cast<std::ptrdiff_t>(first_of_node_);
        auto entry = std::find_if(first, nodes_seen_.end(), is_same);
        if (entry == nodes_seen_.end()) {
            nodes_seen_.push_back({.key = by_->rows == row_kind::node ? std::string{} : row.key,
                                   .kind = row.kind,
                                   .name = node.name,
                                   .is_in_order = spec.mode->units().in_units()});
            entry = std::prev(nodes_seen_.end());
        }
        const std::string because = why_out(node.host, state_->book->services(where)[which.at()]);
        entry->used.push_back(spec.mode->used(spec, state_->book->devices(where)[which.at()]).count());
        entry->is_out.push_back(!because.empty());
        if (entry->because.empty()) entry->because = because;
    }

    /// Counts the GPUs of a node on which something may run.
    void add_busy(node_index where) {
        struct unit_count {
            std::int64_t gpus = 0;
            std::int64_t units = 0;
        };
        const std::size_t devices = state_->nodes().nodes[where.at()].devices.size();
        std::vector<std::int64_t> shares(devices);
        for (const std::uint32_t slot : state_->book->live_on(where)) {
            for (const auto& share : state_->book->bookings()[slot].where.shares) ++shares[share.device.at()];
        }
        std::map<std::string, unit_count> in_units; // by model: the plugin does not tell which GPU a pod is on
        for (std::size_t d = 0; d < devices; ++d) {
            const std::string& model = state_->device(where, device_index{d}).registered.model;
            if (state_->nodes().spec_of(where, device_index{d}).mode->units().in_units()) {
                ++in_units[model].gpus;
                in_units[model].units += shares[d];
            } else if (shares[d] > 0) {
                ++uses_[model].busy_at_most;
            }
        }
        for (const auto& [model, count] : in_units) uses_[model].busy_at_most += std::min(count.gpus, count.units);
    }

    const kube::snapshot* state_;
    const grouping* by_;
    model_names models_;
    std::map<std::string, model_use> uses_; ///< by model
    std::vector<node_devices> nodes_seen_;
    std::size_t first_of_node_ = 0; ///< of nodes_seen_, the first of the node that was added last
    std::map<std::pair<std::string, std::string>, growing_row> rows_; ///< by key and kind
};

} // namespace

void add_devices(const kube::snapshot& state, const grouping& by, overview& to) {
    device_counter counter{state, by};
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        if (!state.book->is_present(node_index{n})) continue;
        ++to.nodes_all;
        if (!state.nodes().nodes[n].devices.empty()) ++to.nodes;
        counter.add_node(node_index{n});
    }
    to.rows = counter.take();
    to.models = counter.models();
    to.nodes_seen = counter.nodes_seen();
    for (const device_row& row : to.rows) {
        to.gpus += row.gpus;
        for (std::size_t i = 0; i < to.parts.size(); ++i) to.parts[i] += row.parts[i];
    }
    if (is_of_pods(by.rows)) to.rows.clear();
    if (to.gpus > 0) return;
    for (const auto& spoken : state.dialects) {
        for (std::string& resource : spoken->resources()) to.looked_for.push_back(std::move(resource));
    }
    std::ranges::sort(to.looked_for);
    const auto repeated = std::ranges::unique(to.looked_for);
    to.looked_for.erase(repeated.begin(), repeated.end());
}

} // namespace vgpuops::show
