// The nvidia dialect: the physical GPUs behind the units of a node.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "mps_labels.hpp"
#include "nvidia_boards.hpp"
#include "nvidia_labels.hpp"
#include "nvidia_parts.hpp"
#include "nvidia_units.hpp"
#include "text.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/catalog/mps.hpp"
#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::nvidia {

using kubernetes::value_of;

namespace {

constexpr const char* mixed_word = "mig"; ///< of uuids of GPUs whose instances are counted by profile

/// The profile as pods name it: "1g.10gb", and "1g.10gb+shared" of a resource that renameByDefault renames.
std::string profile_of_resource(std::string_view resource) {
    return profile_of_words(resource.substr(mig_prefix.size()));
}

/// Reads the devices of one node.
class node_reader {
public:
    node_reader(const kubernetes::node& node, const options& configured)
        : node_{&node}, options_{&configured}, labels_{node, *configured.catalog} {}

    node_reading read() {
        std::map<std::string, unit_counts> counted = registered_units();
        const bool none_registered = reading_.problems.empty() && std::ranges::all_of(counted, [](const auto& entry) {
                                         return entry.second.all == 0;
                                     });
        if (none_registered) counted = unregistered_units(*node_, labels_);
        std::map<std::string, unit_counts> instances; // by resource
        for (const auto& [resource, units] : counted) {
            check_number_labels(resource);
            if (resource.starts_with(mig_prefix)) {
                instances.emplace(resource, units);
            } else if (!profile_of(labels_.of(resource, "product")).empty()) {
                read_single(resource, units);
            } else {
                read_gpus(resource, units);
            }
        }
        if (!instances.empty()) {
            if (!counted.contains(gpu_resource)) check_number_labels(gpu_resource);
            read_mixed(instances);
        }
        if (none_registered && !reading_.devices.empty()) warn_of_plugin();
        return std::move(reading_);
    }

private:
    /// By resource, as the plugin has registered them with the kubelet.
    std::map<std::string, unit_counts> registered_units() {
        const bool has_gpus = !is_served_by_another(*node_);
        std::map<std::string, unit_counts> result;
        for (const auto& [resource, amount] : node_->allocatable) {
            if (!counts_devices(resource) || (resource == gpu_resource && !has_gpus)) continue;
            if (const auto units = units_of(resource)) result.emplace(resource, *units);
        }
        return result;
    }

    std::optional<unit_counts> units_of(const std::string& resource) {
        const auto healthy = amount(resource, node_->allocatable, "allocatable ");
        if (!healthy) return std::nullopt;
        const auto all = node_->capacity.contains(resource) ? amount(resource, node_->capacity, "capacity ") : healthy;
        if (!all) return std::nullopt;
        return unit_counts{.healthy = *healthy, .all = std::max(*healthy, *all)};
    }

    /// None, and a problem, for an amount that no node has.
    std::optional<std::int64_t> amount(const std::string& resource, const kubernetes::text_map& amounts,
                                       const char* field) {
        const std::string& written = value_of(amounts, resource);
        const auto units = written.empty() ? std::optional<std::int64_t>{0} : text::quantity(written);
        if (units && *units <= devices_per_node_max) {
            const bool is_whole = written.empty() || kubernetes::parse_quantity(written, kubernetes::quantity_unit::one,
                                                                                kubernetes::rounding::refuse);
            if (!is_whole) {
                warn(field + resource, written,
                     "a whole number; counted as " + std::to_string(*units) + ", rounded up as Kubernetes does");
            }
            return units;
        }
        reading_.problems.push_back(bad_value(units ? error_code::out_of_range : error_code::malformed,
                                              field + resource, written,
                                              "a whole number up to " + std::to_string(devices_per_node_max))
                                        .at("node " + node_->name));
        return std::nullopt;
    }

    /// Warns of labels that are to be numbers and are none: what they say of the devices is not known then.
    void check_number_labels(const std::string& resource) {
        constexpr std::array<std::pair<const char*, std::int64_t>, 2> labels{
            {{"count", devices_per_node_max}, {"memory", device_memory_max.count()}}};
        for (const auto& [word, most] : labels) {
            const std::string& written = labels_.of(resource, word);
            if (written.empty() || text::whole_number(written, most)) continue;
            warn(labels_.name_of(resource, word), written,
                 "a whole number up to " + std::to_string(most) + "; not read");
        }
    }

    [[nodiscard]] sharing sharing_of(const std::string& resource, const unit_counts& units) {
        return read_sharing(*node_, labels_, options_->sharing, {.resource = resource, .units = units},
                            reading_.warnings);
    }

    void read_gpus(const std::string& resource, const unit_counts& units) {
        const sharing shared = sharing_of(resource, units);
        const std::string& product = labels_.of(resource, "product");
        for (std::int64_t i = 0; i < units.all / shared.replicas; ++i) {
            device_registration device;
            device.uuid = uuid_of(resource.substr(domain.size()), i);
            device.model = product;
            device.family = resource == gpu_resource ? gpu_family : std::string_view{resource};
            device.mode = shared.by_mps ? mps_mode : shared.replicas > 1 ? time_slicing_mode : exclusive_mode;
            const std::int64_t healthy =
                std::clamp<std::int64_t>(units.healthy - i * shared.replicas, 0, shared.replicas);
            device.healthy = healthy > 0;
            // The part of a client of MPS goes by the slots, so there the one that is missing is counted.
            device.slots = device.healthy && !shared.by_mps ? healthy : shared.replicas;
            if (shared.replicas > 1) device.units = rules_of(shared);
            if (shared.by_mps) device.clients_max = mps_clients_of(*node_);
            if (i == 0 && shared.by_mps) check_clients(resource, shared.replicas, device.clients_max);
            device.memory = memory_of(resource, product);
            add(std::move(device), i);
        }
    }

    void check_clients(const std::string& resource, std::int64_t replicas, std::int64_t labelled) {
        const std::int64_t most = labelled > 0 ? labelled : built_in_mps_limits().clients_unsaid;
        if (replicas <= most) return;
        warn(labels_.name_of(resource, "replicas"), std::to_string(replicas),
             "at most " + std::to_string(most) + ", which is as many clients as MPS takes; so many are counted");
    }

    /// Strategy single: every GPU is cut into instances of one profile, which nvidia.com/gpu counts.
    void read_single(const std::string& resource, const unit_counts& units) {
        const std::string& product = labels_.of(resource, "product");
        const std::string profile = profile_of(product);
        if (units.all == 0 || profile == "INVALID") return;
        const mig_model* const model = model_of(product);
        const sharing shared = sharing_of(resource, units);
        const std::int64_t per_board = instances_per_board(model, profile);
        const std::int64_t instances = units.all / shared.replicas;
        read_boards({.resources = {{resource, units}},
                     .replicas = {shared},
                     .profiles = {{.profile = profile, .instances = instances}},
                     .gpu = std::string{gpu_of(product)},
                     .family = std::string{resource == gpu_resource ? gpu_family : std::string_view{resource}},
                     .word = resource.substr(domain.size()),
                     .boards = (instances + per_board - 1) / per_board,
                     .memory = memory_of_model(gpu_of(product)).value_or(mib{0})});
    }

    /// Strategy mixed: the instances of each profile are a resource.
    void read_mixed(const std::map<std::string, unit_counts>& resources) {
        cut_boards cut{.family = std::string{mig_family}, .word = mixed_word};
        const std::string gpu_name{gpu_of(labels_.of(gpu_resource, "product"))};
        cut.gpu = gpu_name;
        for (const auto& [resource, units] : resources) {
            if (units.all == 0) continue;
            cut.resources.emplace_back(resource, units);
            cut.replicas.push_back(sharing_of(resource, units));
            cut.profiles.push_back({.profile = profile_of_resource(stem_of(resource)),
                                    .instances = units.all / cut.replicas.back().replicas});
            if (cut.gpu.empty()) cut.gpu = gpu_of(labels_.of(resource, "product"));
        }
        if (cut.resources.empty()) return;
        cut.boards = boards_beside_whole_gpus();
        cut.memory = memory_of(gpu_resource, cut.gpu);
        read_boards(cut);
    }

    /// GPUs with instances: feature discovery counts all GPUs of the node.
    [[nodiscard]] std::optional<std::int64_t> boards_beside_whole_gpus() const {
        const auto all = labels_.number_of(gpu_resource, "count", devices_per_node_max);
        if (!all) return std::nullopt;
        const auto is_whole = [](const device_registration& device) { return device.mode != mig_mode; };
        const auto whole = static_cast<std::int64_t>(std::ranges::count_if(reading_.devices, is_whole));
        return *all > whole ? std::optional{*all - whole} : std::nullopt;
    }

    /// GPUs that are cut, by the resources that count their instances.
    struct cut_boards {
        std::vector<std::pair<std::string, unit_counts>> resources{};
        std::vector<sharing> replicas{};        ///< by resource
        std::vector<instance_count> profiles{}; ///< by resource
        std::string gpu{};                      ///< the GPU's name
        std::string family{};
        std::string word{};                   ///< of their uuids
        std::optional<std::int64_t> boards{}; ///< that there are
        mib memory{};                         ///< of one; 0: nothing says it
    };

    void read_boards(const cut_boards& cut) {
        const mig_model* const model = model_of(cut.gpu);
        const auto boards = deal_instances(model, cut.profiles, cut.boards);
        if (cut.boards && std::cmp_not_equal(boards.size(), *cut.boards)) {
            warn(labels_.name_of(gpu_resource, "count"), std::to_string(*cut.boards),
                 "as many GPUs as the instances of the node need, " + std::to_string(boards.size()) + "; counted so");
        }
        std::vector<std::int64_t> missing; // units that are not allocatable, by resource
        for (const auto& [resource, units] : cut.resources) missing.push_back(units.all - units.healthy);
        std::vector<device_registration> devices(boards.size());
        for (std::size_t b = boards.size(); b-- > 0;) {
            devices[b] = board_of(cut, model, boards[b]);
            devices[b].uuid = uuid_of(cut.word, static_cast<std::int64_t>(b));
            const bool any_missing = std::ranges::any_of(missing, [](std::int64_t count) { return count > 0; });
            devices[b].healthy = !any_missing || !has_only(units_of_board(cut, boards[b]), missing);
            if (devices[b].healthy) continue;
            const std::vector<std::int64_t> units = units_of_board(cut, boards[b]);
            for (std::size_t i = 0; i < missing.size(); ++i) missing[i] -= units[i];
        }
        leave_out(missing, devices);
        for (std::size_t b = 0; b < devices.size(); ++b) add(std::move(devices[b]), static_cast<std::int64_t>(b));
    }

    /// By resource.
    static std::vector<std::int64_t> units_of_board(const cut_boards& cut, const std::vector<instance_count>& board) {
        std::vector<std::int64_t> units;
        for (std::size_t i = 0; i < board.size(); ++i) units.push_back(board[i].instances * cut.replicas[i].replicas);
        return units;
    }

    /// Whether all that the board has is missing.
    static bool has_only(const std::vector<std::int64_t>& units, const std::vector<std::int64_t>& missing) {
        for (std::size_t i = 0; i < units.size(); ++i) {
            if (units[i] > missing[i]) return false;
        }
        return true;
    }

    /// Takes single units away that are missing where no whole GPU is.
    static void leave_out(std::vector<std::int64_t> missing, std::vector<device_registration>& devices) {
        for (std::size_t i = 0; i < missing.size(); ++i) {
            for (std::size_t b = devices.size(); b-- > 0;) {
                device_registration& device = devices[b];
                if (!device.healthy || missing[i] == 0) continue;
                std::int64_t& count = device.geometry.front().kinds[i].count;
                const std::int64_t gone = std::min(missing[i], count);
                count -= gone;
                missing[i] -= gone;
            }
        }
    }

    /// A GPU has no more units than mode mig can count: of more replicas as many of each instance as it can.
    [[nodiscard]] device_registration board_of(const cut_boards& cut, const mig_model* model,
                                               const std::vector<instance_count>& instances) {
        const std::vector<std::int64_t> replicas = counted_replicas(cut, instances);
        device_registration device;
        device.model = cut.gpu;
        device.family = cut.family;
        device.mode = mig_mode;
        device.slots = 0;
        device.units = {.order = options_->allocation, .one_per_container = false};
        mig_group group;
        mib sum;
        for (std::size_t i = 0; i < instances.size(); ++i) {
            const sharing& shared = cut.replicas[i];
            mig_kind kind{.name = instances[i].profile,
                          .memory = memory_of_instance(cut.resources[i].first, instances[i].profile, model),
                          .count = instances[i].instances * replicas[i],
                          .replicas = replicas[i]};
            sum = sum + mib{kind.memory.count() * instances[i].instances};
            if (shared.replicas > 1) {
                device.units.one_per_container = shared.one_per_container || options_->one_replica_only;
            }
            device.slots += kind.count;
            group.kinds.push_back(std::move(kind));
        }
        group = with_slices(*options_->catalog, cut.gpu, {std::move(group)}).front();
        for (std::size_t i = 0; i < group.kinds.size(); ++i) {
            share(group.kinds[i], cut.replicas[i].replicas);
            // Pods name it as the resource does.
            if (cut.word == mixed_word) group.kinds[i].name = profile_of_resource(cut.resources[i].first);
        }
        device.slots = std::max<std::int64_t>(device.slots, 1);
        device.memory = std::max(cut.memory, std::max(sum, mib{1}));
        device.geometry.push_back(std::move(group));
        return device;
    }

    /// By resource, of each instance; a warning if they are not all.
    [[nodiscard]] std::vector<std::int64_t> counted_replicas(const cut_boards& cut,
                                                             const std::vector<instance_count>& instances) {
        std::vector<std::int64_t> replicas;
        std::int64_t units = 0;
        for (std::size_t i = 0; i < instances.size(); ++i) {
            replicas.push_back(cut.replicas[i].replicas);
            units += instances[i].instances * replicas.back();
        }
        const std::int64_t all = units;
        while (units > volcano_vgpu::mig_slots_max) {
            const auto most = std::ranges::max_element(replicas);
            units -= instances[static_cast<std::size_t>(most - replicas.begin())].instances;
            --*most;
        }
        if (units < all) {
            warn(cut.resources.front().first, std::to_string(all) + " units on a GPU",
                 "at most " + std::to_string(volcano_vgpu::mig_slots_max) + "; " + std::to_string(units) +
                     " are counted");
        }
        return replicas;
    }

    /// By the label, or else the catalog; 1 MiB where neither says it.
    [[nodiscard]] mib memory_of_instance(const std::string& resource, const std::string& profile,
                                         const mig_model* model) const {
        const auto labelled = labels_.number_of(resource, "memory", device_memory_max.count());
        if (labelled.value_or(0) > 0) return mib{*labelled};
        const auto known = model == nullptr ? expected<const mig_profile*>{nullptr} : find_profile(*model, profile);
        if (!known || *known == nullptr) return mib{1};
        return charged_memory(*model, **known, model->memory.value_or(mib{0}));
    }

    /// A replica of an instance: as much of it, as nothing keeps replicas apart.
    static void share(mig_kind& kind, std::int64_t replicas) {
        kind.memory = mib{kind.memory.count() / replicas};
        kind.cores = core_percent{kind.cores.count() / replicas};
        for (fraction* const slices : {&kind.slices.memory, &kind.slices.compute}) {
            *slices = fraction::of(slices->part, slices->whole * replicas);
        }
    }

    [[nodiscard]] unit_rules rules_of(const sharing& shared) const {
        return {.order = options_->allocation,
                .one_per_container = shared.one_per_container || options_->one_replica_only};
    }

    [[nodiscard]] std::string uuid_of(const std::string& word, std::int64_t position) const {
        return node_->name + "/" + word + "/" + std::to_string(position);
    }

    void add(device_registration device, std::int64_t position) {
        reading_.devices.push_back(std::move(device));
        reading_.indices.push_back(position);
    }

    /// Null where the catalog does not know the GPU.
    [[nodiscard]] const mig_model* model_of(std::string_view product) const {
        const auto model = find_model(*options_->catalog, gpu_of(product));
        return model ? *model : nullptr;
    }
    [[nodiscard]] std::optional<mib> memory_of_model(std::string_view product) const {
        const mig_model* const model = model_of(product);
        return model == nullptr ? std::nullopt : model->memory;
    }

    /// Of whole GPUs: by the label, or else the catalog.
    [[nodiscard]] mib memory_of(const std::string& resource, std::string_view product) const {
        constexpr mib unknown{1};
        const auto labelled = labels_.number_of(resource, "memory", device_memory_max.count());
        if (labelled.value_or(0) > 0) return mib{*labelled};
        return memory_of_model(product).value_or(unknown);
    }

    void warn(const std::string& field, const std::string& value, std::string expected) {
        reading_.warnings.push_back(
            bad_value(error_code::mismatch, field, value, std::move(expected)).at("node " + node_->name));
    }

    void warn_of_plugin() {
        const std::string gpus = std::to_string(reading_.devices.size());
        reading_.warnings.push_back(bad_input(error_code::mismatch, gpu_resource,
                                              "the device plugin registers 0 of " + gpus + " GPUs, which label " +
                                                  labels_.name_of(gpu_resource, "count") +
                                                  " counts; they are out of service")
                                        .at("node " + node_->name));
    }

    const kubernetes::node* node_;
    const options* options_;
    gpu_labels labels_;
    node_reading reading_;
};

} // namespace

node_reading read_devices(const kubernetes::node& node, const options& configured) {
    return node_reader{node, configured}.read();
}

} // namespace vgpualloc::dialects::nvidia
