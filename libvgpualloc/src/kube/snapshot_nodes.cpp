// The nodes of a snapshot: devices of every dialect, each once, and the host's part.
#include <algorithm>
#include <charconv>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpusim {

using vgpualloc::device_index;
using vgpualloc::error;
using vgpualloc::error_code;
using vgputraces::manifest;

namespace {

void warn(std::vector<error>& warnings, const std::string& place, error problem) {
    problem.where = place + (problem.where.empty() ? "" : ": " + problem.where);
    warnings.push_back(std::move(problem));
}

std::int64_t pods_max_of(const manifest& from, std::int64_t otherwise, std::vector<error>& warnings) {
    const auto found = from.node->allocatable.find("pods");
    if (found == from.node->allocatable.end()) return otherwise;
    const std::string& written = found->second;
    constexpr std::int64_t most = 1'000'000;
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (failure == std::errc{} && end == written.data() + written.size() && value >= 0 && value <= most) return value;
    warn(warnings, from.place,
         {.code = error_code::malformed,
          .where = "node " + from.name,
          .field = "status.allocatable.pods",
          .value = written,
          .expected = "a whole number; taken as " + std::to_string(otherwise)});
    return otherwise;
}

/// Adds the devices of one node, dialect by dialect.
class node_reader {
public:
    node_reader(const manifest& from, const vgpualloc::mig_catalog& catalog, snapshot_nodes& to,
                std::vector<error>& warnings)
        : from_{&from}, catalog_{&catalog}, to_{&to}, warnings_{&warnings} {
        node_.name = from.name;
        node_.cpu = from.cpu;
        node_.memory = to_bytes(from.memory);
        node_.pods_max = pods_max_of(from, node_.pods_max, warnings);
    }

    void add(const std::string& dialect, vgpualloc::dialect::node_reading read) {
        for (error& each : read.problems) warn(*warnings_, from_->place, std::move(each));
        dialect_devices own;
        for (std::size_t i = 0; i < read.devices.size(); ++i) {
            own.index.push_back(add_device(dialect, read.devices[i], read.index_of(i)));
            own.registered.push_back(std::move(read.devices[i]));
        }
        by_dialect_.push_back(std::move(own));
        warn_of_unknown_geometry(dialect);
    }

    void finish() {
        to_->index.emplace(node_.name, vgpualloc::node_index{to_->nodes.nodes.size()});
        to_->nodes.nodes.push_back(std::move(node_));
        to_->devices.push_back(std::move(devices_));
        to_->by_dialect.push_back(std::move(by_dialect_));
    }

private:
    std::optional<device_index> add_device(const std::string& dialect, const vgpualloc::device_registration& from,
                                           std::int64_t index) {
        const auto known = std::ranges::find(devices_, from.uuid, [](const auto& d) { return d.registered.uuid; });
        if (known != devices_.end() && !from.uuid.empty()) {
            if (known->dialect != dialect) warn_of_twin(known->dialect, dialect, from.uuid);
            return device_index{static_cast<std::size_t>(known - devices_.begin())};
        }
        const auto added = vgpualloc::add_device(to_->nodes, node_, from, *catalog_);
        if (!added) {
            warn(*warnings_, from_->place + ": node " + from_->name, added.error());
            return std::nullopt;
        }
        devices_.push_back({.dialect = dialect, .registered = from, .index = index});
        return device_index{devices_.size() - 1};
    }

    void warn_of_twin(const std::string& first, const std::string& second, const std::string& uuid) {
        warn(*warnings_, from_->place,
             {.code = error_code::duplicate,
              .where = "node " + from_->name,
              .field = "device",
              .value = uuid,
              .expected = "registered in one dialect; in " + second + " as well, it counts as of " + first});
    }

    /// The dialect falls back as upstream does; here it is most likely that the configuration was forgotten.
    void warn_of_unknown_geometry(const std::string& dialect) {
        if (dialect != "volcano_vgpu") return;
        namespace vgpu = vgpualloc::dialect::volcano_vgpu;
        const std::string& written =
            vgpualloc::kubernetes::value_of(from_->node->annotations, vgpu::register_annotation);
        const bool is_cut = std::ranges::any_of(devices_, [](const auto& d) { return d.registered.mode == "mig"; });
        if (is_cut || written.find(",mig:") == std::string::npos) return;
        warn(*warnings_, from_->place,
             {.code = error_code::missing,
              .where = "node " + from_->name,
              .field = vgpu::register_annotation,
              .value = "mig",
              .expected = "a geometry for these cards in the device configuration (--config); served as hami_core"});
    }

    const manifest* from_;
    const vgpualloc::mig_catalog* catalog_;
    snapshot_nodes* to_;
    std::vector<error>* warnings_;
    vgpualloc::node node_;
    std::vector<snapshot_device> devices_;
    std::vector<dialect_devices> by_dialect_;
};

} // namespace

snapshot_nodes read_snapshot_nodes(const snapshot_objects& from, const std::vector<manifest_dialect>& dialects,
                                   const vgpualloc::mig_catalog& catalog, std::vector<error>& warnings) {
    snapshot_nodes made;
    for (const manifest* each : from.nodes) {
        node_reader reader{*each, catalog, made, warnings};
        const auto info = from.device_infos.find(each->name);
        const auto on_node = from.on_node.find(each->name);
        for (const manifest_dialect& dialect : dialects) {
            reader.add(
                dialect.name,
                dialect.read_node(*each->node,
                                  info == from.device_infos.end() ? manifest_dialect::device_info{} : info->second,
                                  on_node == from.on_node.end()
                                      ? std::span<const vgpualloc::kubernetes::pod* const>{}
                                      : std::span<const vgpualloc::kubernetes::pod* const>{on_node->second}));
        }
        reader.finish();
    }
    return made;
}

} // namespace vgpusim
