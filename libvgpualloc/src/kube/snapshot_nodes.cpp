// The nodes of a snapshot: devices of every dialect, each once, and the host's part.
#include <algorithm>
#include <utility>

#include "snapshot_parts.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/quantity.hpp"
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
    const auto value =
        kubernetes::parse_quantity(written, kubernetes::quantity_unit::one, kubernetes::rounding::refuse);
    if (value && *value <= most) return *value;
    warn(warnings, object.place,
         {.code = error_code::malformed,
          .where = "node " + object.name,
          .field = "status.allocatable.pods",
          .value = written,
          .expected = "a whole number of at most " + std::to_string(most) + "; taken as " + std::to_string(otherwise)});
    return otherwise;
}

/// Adds the devices of one node, dialect by dialect.
class node_reader {
public:
    node_reader(const manifest& object, const dialect_set& dialects, device_kinds& kinds, std::vector<error>& warnings)
        : object_{&object}, catalog_{dialects.config().mig.get()}, kinds_{&kinds}, warnings_{&warnings} {
        node& described = result_.described;
        described.name = object.name;
        described.cpu = object.cpu;
        described.memory = object.memory;
        described.host = object.host;
        described.host.labels.assign(object.node->labels.begin(), object.node->labels.end());
        described.host.resources = dialects.resources_offered(*object.node);
        described.pods_max = pods_max_of(object, described.pods_max, warnings);
    }

    void add(std::string_view dialect, dialects::node_reading reading) {
        for (error& problem : reading.problems) warn(*warnings_, object_->place, std::move(problem));
        dialect_devices own;
        for (std::size_t i = 0; i < reading.devices.size(); ++i) {
            own.index.push_back(add_device(dialect, reading.devices[i], reading.index_of(i)));
            own.registered.push_back(std::move(reading.devices[i]));
        }
        result_.by_dialect.push_back(std::move(own));
        for (error& doubt : reading.warnings) warn(*warnings_, object_->place, std::move(doubt));
    }

    [[nodiscard]] described_node take() { return std::move(result_); }

private:
    std::optional<device_index> add_device(std::string_view dialect, const device_registration& registered,
                                           std::int64_t index) {
        const auto uuid_of = [](const snapshot_device& device) -> const std::string& { return device.registered.uuid; };
        const auto known = std::ranges::find(result_.devices, registered.uuid, uuid_of);
        if (known != result_.devices.end() && !registered.uuid.empty()) {
            if (known->dialect != dialect) warn_of_twin(known->dialect, dialect, registered.uuid);
            return device_index{known - result_.devices.begin()};
        }
        const auto added = vgpualloc::add_device(*kinds_, result_.described, registered, *catalog_);
        if (!added) {
            warn(*warnings_, object_->place + ": node " + object_->name, added.error());
            return std::nullopt;
        }
        result_.devices.push_back({.dialect = std::string{dialect}, .registered = registered, .index = index});
        return device_index{result_.devices.size() - 1};
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
    device_kinds* kinds_;
    std::vector<error>* warnings_;
    described_node result_;
};

} // namespace

described_node describe_node(const manifest& object, std::vector<dialects::node_reading> readings,
                             const dialect_set& dialects, device_kinds& kinds, std::vector<error>& warnings) {
    node_reader reader{object, dialects, kinds, warnings};
    for (std::size_t i = 0; i < dialects.size(); ++i) reader.add(dialects[i].name(), std::move(readings[i]));
    return reader.take();
}

error refusal_of_node(const manifest& object, error refusal) {
    refusal.where = object.place + ": " + refusal.where;
    refusal.expected += "; the node counts nowhere";
    return refusal;
}

} // namespace vgpualloc::kube
