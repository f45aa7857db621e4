// The nvidia dialect: pods.
#include "vgpualloc/dialect/nvidia.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "counted_resources.hpp"
#include "listed_dialect.hpp"
#include "nvidia_boards.hpp"
#include "nvidia_parts.hpp"
#include "text.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::nvidia {

bool counts_devices(std::string_view resource) {
    return resource == gpu_resource || resource == shared_gpu_resource || resource.starts_with(mig_prefix);
}

namespace {

class nvidia_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::vector<std::string> resources() const override {
        return options_.reads_gpu ? std::vector<std::string>{gpu_resource, shared_gpu_resource}
                                  : std::vector<std::string>{shared_gpu_resource};
    }
    [[nodiscard]] bool reads_resource(std::string_view resource) const override { return reads(resource); }
    [[nodiscard]] bool assigned_by_kubelet() const noexcept override { return true; }
    [[nodiscard]] bool counts_init_apart(const kubernetes::pod& /*pod*/) const override { return true; }

    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; }

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override {
        const auto reads = resources_of(pod);
        return std::ranges::any_of(text::all_containers(pod), [&reads](const kubernetes::container* container) {
            return std::ranges::any_of(container->requests, [&reads](const auto& entry) { return reads(entry.first); });
        });
    }

    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override {
        const auto reads = resources_of(pod);
        pod_request request;
        for (const auto* const list : {&pod.init_containers, &pod.containers}) {
            for (const kubernetes::container& container : *list) {
                const bool ends = list == &pod.init_containers && !container.stays;
                for (const auto& [resource, amount] : container.requests) {
                    if (!reads(resource) || amount == 0) continue;
                    if (amount < 0 || amount > devices_per_node_max) {
                        return unexpected(out_of_range(pod, container, resource));
                    }
                    if (!ends) add_entries(resource, amount, request.containers);
                }
            }
        }
        for (const auto& [resource, amount] : needed_at_init(pod, reads)) {
            add_entries(resource, amount, request.containers);
        }
        return request;
    }

    [[nodiscard]] std::string trait_of(const kubernetes::node& node) const override {
        if (!options_.reads_gpu && node.annotations.contains(hami::register_annotation)) return hami_trait;
        return offers_gpus_in_units(node, options_.sharing) ? units_trait : "";
    }
    [[nodiscard]] std::shared_ptr<const dialect> for_traits(const std::set<std::string>& traits) const override {
        if (traits.contains(hami_trait)) return nullptr;
        options adapted = options_;
        adapted.reads_whole_gpus = !options_.reads_gpu;
        adapted.counts_units = traits.contains(units_trait);
        return make(std::move(adapted));
    }

    [[nodiscard]] node_reading read_node(const node_source& source) const override {
        return read_devices(source.object, options_);
    }
    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& /*config_map*/) const override {
        write_devices(devices, node);
    }

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod&,
                                                     std::span<const device_registration>) const override {
        return {};
    }
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod&, std::span<const device_registration>,
                                                        const decision&) const override {
        return {};
    }

private:
    static constexpr const char* hami_trait = "hami";
    static constexpr const char* units_trait = "units";

    void add_entries(const std::string& resource, std::int64_t amount, std::vector<device_request>& to) const {
        device_request entry;
        entry.count = amount;
        entry.cores = whole_compute;
        if (resource.starts_with(mig_prefix)) {
            entry.family = mig_family;
            entry.profile = profile_of_words(std::string_view{resource}.substr(mig_prefix.size()));
            entry.cores = core_percent{0}; // those of the profile
        } else {
            entry.family = resource == gpu_resource ? gpu_family : std::string_view{resource};
        }
        if (resource != gpu_resource || options_.counts_units) {
            split_units(entry, to);
        } else {
            to.push_back(std::move(entry));
        }
    }

    static error out_of_range(const kubernetes::pod& pod, const kubernetes::container& container,
                              const std::string& resource) {
        return bad_value(error_code::out_of_range, resource,
                         kubernetes::written_of(container, resource, container.requests.at(resource)),
                         "a whole number from 0 to " + std::to_string(devices_per_node_max))
            .at("pod " + pod.ns + "/" + pod.name + ", container " + container.name);
    }

    /// In some pods, if not in all.
    [[nodiscard]] bool reads(std::string_view resource) const {
        return counts_devices(resource) &&
               (resource != gpu_resource || options_.reads_gpu || options_.reads_whole_gpus);
    }

    /// Which resources this dialect reads in a pod.
    [[nodiscard]] std::function<bool(std::string_view)> resources_of(const kubernetes::pod& pod) const {
        const bool reads_gpu =
            options_.reads_gpu || (options_.reads_whole_gpus && !text::names_any(pod, options_.hami_amounts));
        return [reads_gpu](std::string_view resource) {
            return counts_devices(resource) && (resource != gpu_resource || reads_gpu);
        };
    }
};

} // namespace

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const nvidia_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    options configured = config.devices.nvidia_plugin.value_or(options{});
    const hami::options of_hami = config.devices.hami.value_or(hami::options{});
    configured.reads_gpu = of_hami.count_name != gpu_resource;
    configured.hami_amounts = hami::amount_names(of_hami);
    configured.catalog = config.mig;
    return configured;
}

} // namespace vgpualloc::dialects::nvidia
