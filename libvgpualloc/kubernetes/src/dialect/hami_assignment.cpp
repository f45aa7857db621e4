// The hami dialect: the annotations that say which GPUs a pod has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::hami {

namespace {

using hami_text::amount_max;
using vgpuformats::document;

constexpr const char* allocated_key = "hami.io/vgpu-devices-allocated";
constexpr const char* to_allocate_key = "hami.io/vgpu-devices-to-allocate";
constexpr const char* mig_key = "hami.io/vgpu-mig-allocations";

/// One entry of the MIG annotation: which instance a record of the other annotation is.
struct mig_entry {
    std::int64_t part = 0;   ///< container, init containers first
    std::int64_t record = 0; ///< device in it
    std::string uuid;
    std::string profile;
    std::int64_t start = 0;
};

std::vector<mig_entry> read_mig_entries(const kubernetes::pod& pod, std::vector<error>& problems) {
    std::vector<mig_entry> entries;
    const auto annotation = pod.annotations.find(mig_key);
    if (annotation == pod.annotations.end()) return entries;
    const std::string where = hami_text::place(pod, "annotation", mig_key);
    const auto list = vgpuformats::parse_json(annotation->second, where);
    if (!list) {
        problems.push_back(list.error());
        return entries;
    }
    std::optional<error> failure;
    const vgpuformats::cursor reader{*list, where, failure};
    constexpr vgpuformats::number_range position{0, amount_max};
    for (const auto& item : reader.items(0)) {
        mig_entry instance;
        instance.part = item.maybe_integer("containerIndex", position).value_or(0);
        instance.record = item.maybe_integer("deviceIndex", position).value_or(0);
        instance.uuid = item.at("gpuUUID").filled_text();
        instance.profile = item.at("profile").filled_text();
        instance.start = item.at("placement").maybe_integer("start", position).value_or(0);
        entries.push_back(std::move(instance));
    }
    if (!failure) return entries;
    problems.push_back(*std::move(failure));
    return {};
}

/// The profile's position in the list of the GPU's model, which is what mig_instance::profile counts in.
expected<mig_instance> instance_of(const device_registration& device, const mig_entry& from, core_percent cores,
                                   const mig_catalog& catalog) {
    const auto model = model_of(catalog, device);
    if (!model) return unexpected(model.error());
    const auto profile = find_profile(*model, from.profile);
    if (!profile) return unexpected(profile.error());
    if (std::ranges::find((*profile)->starts, mig_units{from.start}) == (*profile)->starts.end()) {
        return unexpected(bad_value(error_code::out_of_range, "placement start of " + from.profile,
                                    std::to_string(from.start), "a start that the profile has"));
    }
    return mig_instance{.profile = static_cast<std::uint32_t>(*profile - model->profiles.data()),
                        .start = static_cast<std::uint32_t>(from.start),
                        .cores = cores};
}

/// Reads the records of a pod's annotation, each with the instance that goes with it.
class record_reader {
public:
    record_reader(const kubernetes::pod& pod, std::span<const device_registration> devices, const mig_catalog& catalog)
        : where_{hami_text::place(pod, "annotation", allocated_key)}, devices_{devices}, catalog_{&catalog},
          mig_{read_mig_entries(pod, reading_.problems)} {}

    [[nodiscard]] assignment_reading take() {
        for (const device_share& share : at_init_) hami_text::add_at_init(share, reading_.shares);
        std::ranges::stable_sort(reading_.shares, {}, &device_share::container);
        return std::move(reading_);
    }
    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] std::vector<error>& problems() { return reading_.problems; }

    /// What an init container has that ends before the others is put aside until take().
    void read_at_init(const hami_text::record& from, std::size_t part, std::size_t record, std::uint32_t container) {
        std::vector<device_share> others = std::exchange(reading_.shares, {});
        read(from, part, record, container);
        at_init_.insert(at_init_.end(), reading_.shares.begin(), reading_.shares.end());
        reading_.shares = std::move(others);
    }

    void read(const hami_text::record& from, std::size_t part, std::size_t record, std::uint32_t container) {
        const auto device = hami_text::find_device(devices_, family, from.uuid, where_, reading_.problems);
        if (!device) return;
        const device_registration& gpu = devices_[device->at()];
        if (gpu.mode == mig_mode) {
            read_instance(gpu, *device, from, part, record, container);
            return;
        }
        const auto same = [&](const device_share& other) {
            return other.container == container && other.device == *device;
        };
        if (std::ranges::any_of(reading_.shares, same)) {
            problem(error_code::duplicate, from, "different GPUs in a container");
            return;
        }
        reading_.shares.push_back({.container = container,
                                   .device = *device,
                                   .part = slice{.memory = mib{from.memory}, .cores = core_percent{from.cores}}});
    }

private:
    void problem(error_code code, const hami_text::record& from, std::string expected_text) {
        reading_.problems.push_back(bad_value(code, "device", from.uuid, std::move(expected_text)).at(where_));
    }

    void read_instance(const device_registration& gpu, device_index device, const hami_text::record& from,
                       std::size_t part, std::size_t record, std::uint32_t container) {
        const auto entry = std::ranges::find_if(mig_, [&](const mig_entry& item) {
            return std::cmp_equal(item.part, part) && std::cmp_equal(item.record, record) && item.uuid == from.uuid;
        });
        if (entry == mig_.end()) {
            problem(error_code::missing, from, std::string{"its instance in annotation "} + mig_key);
            return;
        }
        const auto instance = instance_of(gpu, *entry, core_percent{from.cores}, *catalog_);
        if (!instance) {
            problem(instance.error().code, from, instance.error().message());
            return;
        }
        reading_.shares.push_back({.container = container, .device = device, .part = *instance});
    }

    std::string where_;
    std::span<const device_registration> devices_;
    const mig_catalog* catalog_;
    assignment_reading reading_;
    std::vector<device_share> at_init_;
    std::vector<mig_entry> mig_; // after reading_, whose problems its reading adds to
};

mig_model model_for(const device_registration& device, const options& configured) {
    auto model = model_of(*configured.catalog, device);
    VGA_ASSERT(model.has_value(), "a MIG share is of a GPU whose model is known");
    return *std::move(model);
}

const mig_profile& profile_of(const mig_model& model, const mig_instance& part) {
    VGA_ASSERT(part.profile < model.profiles.size(), "a MIG share has a profile of its GPU");
    return model.profiles[part.profile];
}

/// What HAMi charges of compute, in percent: as the GPU registers the profile; else the profile's share of the
/// multiprocessors of the whole GPU, rounded up, or of its compute slices where these are not known.
std::int64_t cores_of(const device_registration& device, const mig_model& model, const mig_profile& own) {
    const auto offered = std::ranges::find(device.offers, own.name, &mig_offer::name);
    if (offered != device.offers.end() && offered->cores > core_percent{0}) return offered->cores.count();
    std::int64_t part = own.compute_slices.count();
    std::int64_t whole = model.compute_slices.count();
    const auto all = std::ranges::find_if(model.profiles, [&model](const mig_profile& candidate) {
        return candidate.compute_slices == model.compute_slices && candidate.sm;
    });
    if (own.sm && all != model.profiles.end()) {
        part = *own.sm;
        whole = *all->sm;
    }
    return (whole_compute.count() * part + whole - 1) / whole;
}

hami_text::record record_of(const device_registration& device, const partition& part, const options& configured) {
    hami_text::record result{.uuid = device.uuid, .word = family};
    if (const auto* instance = std::get_if<mig_instance>(&part)) {
        const mig_model model = model_for(device, configured);
        const mig_profile& profile = profile_of(model, *instance);
        result.memory = charged_memory(model, profile, model.memory.value_or(device.memory)).count();
        result.cores = cores_of(device, model, profile);
        return result;
    }
    const auto* part_slice = std::get_if<slice>(&part);
    VGA_ASSERT(part_slice != nullptr, "a share of a GPU is a slice or a MIG instance");
    result.memory = part_slice->memory.count();
    result.cores = part_slice->cores.count();
    return result;
}

document mig_json(const device_registration& device, const mig_instance& part, std::size_t container,
                  std::size_t record, const options& configured) {
    const mig_model model = model_for(device, configured);
    const mig_profile& profile = profile_of(model, part);
    return document::map({{"containerIndex", container},
                          {"deviceIndex", record},
                          {"gpuUUID", device.uuid},
                          {"profile", profile.name},
                          {"placement", document::map({{"start", part.start}, {"size", profile.size.count()}})}});
}

} // namespace

assignment_reading hami_dialect::read_assignment(const kubernetes::pod& pod,
                                                 std::span<const device_registration> devices) const {
    const auto annotation = pod.annotations.find(allocated_key);
    if (annotation == pod.annotations.end()) return {};
    record_reader reader{pod, devices, *options_.catalog};
    const auto containers = hami_text::or_nothing(read_all_containers(pod, options_), pod);
    const auto parts = hami_text::read_parts(annotation->second, reader.where(), reader.problems());
    const auto owners = hami_text::containers_of_parts(parts.size(), containers, reader.where(), reader.problems());
    for (std::size_t part = 0; part < parts.size(); ++part) {
        if (!owners[part] || !containers.owners[*owners[part]]) {
            // What the annotation says is in use is in use, whoever asked for it.
            for (std::size_t i = 0; i < parts[part].size(); ++i) {
                reader.problems().push_back(bad_value(error_code::mismatch, "container part " + std::to_string(part),
                                                      parts[part][i].uuid, "no device: it asks for none")
                                                .at(reader.where()));
                reader.read(parts[part][i], part, i, static_cast<std::uint32_t>(part));
            }
            continue;
        }
        const bool at_init = containers.at_init[*owners[part]];
        if (at_init && pod.initialized) continue; // it is free again
        const std::uint32_t entry = *containers.owners[*owners[part]];
        for (std::size_t i = 0; i < parts[part].size(); ++i) {
            if (at_init)
                reader.read_at_init(parts[part][i], part, i, entry);
            else
                reader.read(parts[part][i], part, i, entry);
        }
    }
    return reader.take();
}

kubernetes::text_map hami_dialect::write_assignment(const kubernetes::pod& pod,
                                                    std::span<const device_registration> devices,
                                                    const decision& decided) const {
    const auto containers = hami_text::or_nothing(read_all_containers(pod, options_), pod);
    if (containers.entries.empty()) return {};
    std::string list;
    document instances = document::list();
    for (std::size_t part = 0; part < containers.own.size(); ++part) {
        std::int64_t record = 0;
        for (const device_share& share : decided.shares) {
            if (share.container != containers.owners[part]) continue;
            if (hami_text::has_all_its_devices(containers, part, record)) continue;
            VGA_ASSERT(share.device.at() < devices.size(), "a share is of a device of its node");
            const device_registration& device = devices[share.device.at()];
            const partition own = hami_text::part_of_container(containers, part, share.part, device.memory);
            hami_text::append(list, record_of(device, own, options_));
            if (const auto* instance = std::get_if<mig_instance>(&own)) {
                instances.push_back(mig_json(device, *instance, part, static_cast<std::size_t>(record), options_));
            }
            ++record;
        }
        list += ';';
    }
    kubernetes::text_map written{{to_allocate_key, list},
                                 {allocated_key, list},
                                 {"hami.io/vgpu-node", decided.node},
                                 {"hami.io/vgpu-time", decided.time},
                                 {"hami.io/bind-time", decided.time},
                                 {"hami.io/bind-phase", "allocating"}};
    if (instances.size() > 0) {
        written[mig_key] = vgpuformats::print_json(instances);
    }
    return written;
}

} // namespace vgpualloc::dialects::hami
