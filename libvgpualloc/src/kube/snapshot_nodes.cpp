// The nodes of a snapshot: devices of every dialect, each once, and the host's part.
#include <algorithm>
#include <charconv>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpualloc::kube {

namespace {

void warn(std::vector<error>& warnings, const std::string& place, error problem) {
    problem.where = place + (problem.where.empty() ? "" : ": " + problem.where);
    warnings.push_back(std::move(problem));
}

std::int64_t pods_max_of(const manifest& object, std::int64_t otherwise, std::vector<error>& warnings) {
    const auto offer = object.node->allocatable.find("pods");
    if (offer == object.node->allocatable.end()) return otherwise;
    const std::string& written = offer->second;
    constexpr std::int64_t most = 1'000'000;
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (failure == std::errc{} && end == written.data() + written.size() && value >= 0 && value <= most) return value;
    warn(warnings, object.place,
         {.code = error_code::malformed,
          .where = "node " + object.name,
          .field = "status.allocatable.pods",
          .value = written,
          .expected = "a whole number; taken as " + std::to_string(otherwise)});
    return otherwise;
}

/// Adds the devices of one node, dialect by dialect.
class node_reader {
public:
    node_reader(const manifest& object, const mig_catalog& catalog, snapshot_nodes& target,
                std::vector<error>& warnings)
        : object_{&object}, catalog_{&catalog}, target_{&target}, warnings_{&warnings} {
        node_.name = object.name;
        node_.cpu = object.cpu;
        node_.memory = to_bytes(object.memory);
        node_.pods_max = pods_max_of(object, node_.pods_max, warnings);
    }

    void add(std::string_view dialect, dialects::node_reading reading) {
        for (error& problem : reading.problems) warn(*warnings_, object_->place, std::move(problem));
        dialect_devices own;
        for (std::size_t i = 0; i < reading.devices.size(); ++i) {
            own.index.push_back(add_device(dialect, reading.devices[i], reading.index_of(i)));
            own.registered.push_back(std::move(reading.devices[i]));
        }
        by_dialect_.push_back(std::move(own));
        for (error& doubt : reading.warnings) warn(*warnings_, object_->place, std::move(doubt));
    }

    void finish() {
        target_->index.emplace(node_.name, node_index{target_->nodes.nodes.size()});
        target_->nodes.nodes.push_back(std::move(node_));
        target_->devices.push_back(std::move(devices_));
        target_->by_dialect.push_back(std::move(by_dialect_));
    }

private:
    std::optional<device_index> add_device(std::string_view dialect, const device_registration& registered,
                                           std::int64_t index) {
        const auto uuid_of = [](const snapshot_device& device) -> const std::string& { return device.registered.uuid; };
        const auto known = std::ranges::find(devices_, registered.uuid, uuid_of);
        if (known != devices_.end() && !registered.uuid.empty()) {
            if (known->dialect != dialect) warn_of_twin(known->dialect, dialect, registered.uuid);
            return device_index{static_cast<std::size_t>(known - devices_.begin())};
        }
        const auto added = vgpualloc::add_device(target_->nodes, node_, registered, *catalog_);
        if (!added) {
            warn(*warnings_, object_->place + ": node " + object_->name, added.error());
            return std::nullopt;
        }
        devices_.push_back({.dialect = std::string{dialect}, .registered = registered, .index = index});
        return device_index{devices_.size() - 1};
    }

    void warn_of_twin(const std::string& first, std::string_view second, const std::string& uuid) {
        warn(*warnings_, object_->place,
             {.code = error_code::duplicate,
              .where = "node " + object_->name,
              .field = "device",
              .value = uuid,
              .expected =
                  "registered in one dialect; in " + std::string{second} + " as well, it counts as of " + first});
    }

    const manifest* object_;
    const mig_catalog* catalog_;
    snapshot_nodes* target_;
    std::vector<error>* warnings_;
    node node_;
    std::vector<snapshot_device> devices_;
    std::vector<dialect_devices> by_dialect_;
};

} // namespace

snapshot_nodes read_snapshot_nodes(const cluster_objects& objects, const dialect_set& dialects,
                                   std::vector<error>& warnings) {
    snapshot_nodes result;
    for (const manifest* object : objects.nodes) {
        node_reader reader{*object, *dialects.config().mig, result, warnings};
        for (const auto& spoken : dialects) {
            reader.add(spoken->name(), spoken->read_node(objects.source_of(*spoken, *object->node)));
        }
        reader.finish();
    }
    return result;
}

} // namespace vgpualloc::kube
