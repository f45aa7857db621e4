// The nodes of a snapshot: devices of every dialect, each once, and the host's part.
#include <algorithm>
#include <iterator>
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
         bad_value(error_code::malformed, "status.allocatable.pods", written,
                   "a whole number of at most " + std::to_string(most) + "; taken as " + std::to_string(otherwise))
             .at("node " + object.name));
    return otherwise;
}

bool has_some_of(const kubernetes::node& node, const std::string& resource) {
    const auto amount = kubernetes::parse_quantity(kubernetes::value_of(node.allocatable, resource),
                                                   kubernetes::quantity_unit::one, kubernetes::rounding::up);
    return amount.value_or(0) > 0;
}

/// The first few ids and how many more there are.
std::string some_of(const std::vector<std::string>& uuids) {
    constexpr std::size_t uuids_max = 20;
    std::string list;
    for (std::size_t i = 0; i < std::min(uuids.size(), uuids_max); ++i) list += (i == 0 ? "" : ", ") + uuids[i];
    if (uuids.size() > uuids_max) list += " and " + std::to_string(uuids.size() - uuids_max) + " more";
    return list;
}

/// Devices of one node and dialect that have the same said of them.
class device_warnings {
public:
    /// `doubt` does not name the device.
    void add(error doubt, const std::string& uuid) {
        auto known = std::ranges::find(causes_, doubt, &cause::doubt); // there are a few
        if (known == causes_.end()) known = causes_.insert(causes_.end(), {.doubt = std::move(doubt), .uuids = {}});
        known->uuids.push_back(uuid);
    }

    /// A warning for each cause; `devices` are all that the node has in the dialect.
    void tell(const std::string& place, const std::string& node_name, std::size_t devices,
              std::vector<error>& warnings) && {
        for (auto& [doubt, uuids] : causes_) {
            const std::string which = uuids.size() == 1
                                          ? "device " + uuids.front()
                                          : std::to_string(uuids.size()) + " of " + std::to_string(devices) +
                                                " devices (" + some_of(uuids) + ")";
            const std::string rest = doubt.where.empty() ? "" : ": " + doubt.where;
            doubt.where = "node " + node_name + ": " + which + rest;
            warn(warnings, place, std::move(doubt));
        }
    }

private:
    struct cause {
        error doubt;
        std::vector<std::string> uuids;
    };
    std::vector<cause> causes_;
};

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
        std::ranges::copy_if(described.host.resources, std::back_inserter(described.host.allocatable),
                             [&](const std::string& resource) { return has_some_of(*object.node, resource); });
        described.pods_max = pods_max_of(object, described.pods_max, warnings);
    }

    void add(std::string_view dialect, dialects::node_reading reading) {
        for (error& problem : dialects::joined_by_device(std::move(reading.problems))) {
            warn(*warnings_, object_->place, std::move(problem));
        }
        dialect_devices own;
        const std::size_t devices = reading.devices.size();
        for (std::size_t i = 0; i < reading.devices.size(); ++i) {
            own.index.push_back(add_device(dialect, reading.devices[i], reading.index_of(i)));
            own.registered.push_back(std::move(reading.devices[i]));
        }
        result_.by_dialect.push_back(std::move(own));
        std::exchange(of_devices_, {}).tell(object_->place, object_->name, devices, *warnings_);
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
        auto added = vgpualloc::add_device(*kinds_, result_.described, registered, *catalog_);
        if (!added) {
            error refusal = std::move(added).error();
            const std::string own_place = "device " + registered.uuid;
            if (refusal.where.starts_with(own_place)) {
                refusal.where.erase(0, own_place.size() + (refusal.where.size() > own_place.size() ? 2 : 0));
            }
            of_devices_.add(std::move(refusal), registered.uuid);
            return std::nullopt;
        }
        result_.devices.push_back({.dialect = std::string{dialect}, .registered = registered, .index = index});
        return device_index{result_.devices.size() - 1};
    }

    void warn_of_twin(const std::string& first, std::string_view second, const std::string& uuid) {
        of_devices_.add(bad_input(error_code::duplicate, "",
                                  "registered in dialect " + first + " and in " + std::string{second} +
                                      " as well; counts as of " + first),
                        uuid);
    }

    const manifest* object_;
    const mig_catalog* catalog_;
    device_kinds* kinds_;
    std::vector<error>* warnings_;
    device_warnings of_devices_; ///< of the dialect that is being read
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
    refusal.add("; the node counts nowhere");
    return refusal;
}

} // namespace vgpualloc::kube
