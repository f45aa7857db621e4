#include "vgputraces/workload_nodes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "generator_limits.hpp"
#include "model_parts.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgputraces {

using vgpualloc::core_percent;
using vgpualloc::device_registration;
using vgpualloc::hardware_catalog;
namespace dialects = vgpualloc::dialects;

namespace {

/// A mode, and the dialects in which devices register in it; the first is the one where nothing else is said.
struct mode_spelling {
    std::string_view mode;
    std::array<std::string_view, 2> dialects;
};
constexpr std::array<mode_spelling, 7> spellings{{{.mode = "hami_core", .dialects = {"volcano_vgpu", "hami"}},
                                                  {.mode = "mig", .dialects = {"hami", "volcano_vgpu"}},
                                                  {.mode = "mps", .dialects = {"volcano_vgpu", "hami"}},
                                                  {.mode = "ascend_vir", .dialects = {"ascend_hami", ""}},
                                                  {.mode = "mindcluster_310p", .dialects = {"mindcluster", ""}},
                                                  {.mode = "cce", .dialects = {"cce", ""}},
                                                  {.mode = "exclusive", .dialects = {"nvidia", ""}}}};

constexpr std::int64_t slots_default = 10; ///< deviceSplitCount of Volcano's and HAMi's shipped configurations

/// What a board is called by the driver, and its memory. Of a kind that the catalog does not know the model says it.
void read_gpu(const cursor& object, const hardware_catalog& catalog, device_registration& device) {
    const std::string kind = object.at("kind").filled_text();
    const auto model = vgpualloc::find_model(catalog.mig, kind);
    device.model = "NVIDIA " + (model && !(*model)->card_types.empty() ? (*model)->card_types.front() : kind);
    if (object.has("device_memory_mib")) {
        device.memory = mib{object.at("device_memory_mib").integer({1, vgpualloc::device_memory_max.count()})};
    } else if (model && (*model)->memory) {
        device.memory = *(*model)->memory;
    } else {
        object.at("kind").fail(
            error_code::unknown_name,
            "a GPU whose memory the catalog knows (vgpusim catalog mig), or device_memory_mib beside it");
    }
    device.cores = vgpualloc::whole_compute;
    device.slots = slots_default;
    if (device.model.find_first_of(",:;[]\"") != std::string::npos) {
        object.at("kind").fail(error_code::malformed, "a name without separators");
    }
}

/// The profiles that a kind lists, or all that placements are counted with and whose memory is known. One that is
/// listed and whose memory is not known is offered with its share of the GPU's.
void read_mig_offers(const cursor& object, const hardware_catalog& catalog, device_registration& device) {
    const auto model = vgpualloc::find_model(catalog.mig, object.at("kind").filled_text());
    if (!model) return object.at("kind").fail(error_code::unknown_name, "a GPU with MIG (vgpusim catalog mig)");
    std::vector<std::string> names;
    std::vector<std::string_view> known;
    for (const vgpualloc::mig_profile& profile : (*model)->profiles) {
        known.push_back(profile.name);
        const bool is_counted_with = profile.kind == vgpualloc::mig_profile_kind::core && profile.memory;
        if (is_counted_with && !object.has("profiles")) names.push_back(profile.name);
    }
    vgpualloc::mig_model gpu = **model;
    for (vgpualloc::mig_profile& profile : gpu.profiles) {
        profile.memory = vgpualloc::charged_memory(gpu, profile, device.memory);
    }
    if (object.has("profiles")) {
        for (const cursor& entry : object.at("profiles").items(1, known.size())) {
            names.emplace_back(known[entry.one_of(known)]);
            if (object.failed()) return;
        }
    }
    auto offers = vgpualloc::offers_of(gpu, names);
    if (offers.empty()) {
        return object.at("kind").fail(error_code::missing, "a GPU of whose profiles the catalog knows the memory");
    }
    device.offers = std::move(offers);
}

void read_npu(const cursor& object, const hardware_catalog& catalog, workload_node_kind& kind) {
    const auto chip = vgpualloc::find_chip(catalog.ascend, object.at("kind").filled_text());
    if (!chip)
        return object.at("kind").fail(error_code::unknown_name, "a chip of the catalog (vgpusim catalog ascend)");
    device_registration& device = kind.device;
    device.family = (*chip)->name;
    device.model = (*chip)->name;
    device.memory = (*chip)->memory_allocatable;
    device.cores = core_percent{(*chip)->ai_core};
    device.slots = vgpualloc::device_ids_per_card(**chip);
    kind.pairs = (*chip)->super_pod;
    if (kind.pairs && kind.devices % 2 != 0) {
        object.at("devices").fail(error_code::out_of_range, "an even number: two dies are a module");
    }
}

void read_310p(const cursor& object, device_registration& device) {
    constexpr std::string_view chip = "Ascend310P";
    if (object.at("kind").filled_text() != chip) {
        object.at("kind").fail(error_code::unknown_name, std::string{chip} + ", which alone has this mode");
    }
    const std::int64_t cores = object.maybe_integer("ai_cores", {8, 10}).value_or(8);
    if (cores == 9) object.at("ai_cores").fail(error_code::out_of_range, "8 or 10");
    device.family = chip;
    device.model = "310P3";
    device.cores = core_percent{cores};
}

void read_devices(const cursor& object, const hardware_catalog& catalog, workload_node_kind& kind) {
    device_registration& device = kind.device;
    device.mode = kind.mode;
    kind.kind = object.at("kind").filled_text();
    const bool is_gpu = kind.dialect != "ascend_hami" && kind.dialect != "mindcluster";
    if (is_gpu) read_gpu(object, catalog, device);
    if (kind.dialect == "volcano_vgpu") device.model = "NVIDIA-" + device.model; // as its device plugin does
    if (kind.dialect == "nvidia") std::ranges::replace(device.model, ' ', '-');  // it is the value of a label
    if (is_gpu) device.family = kind.dialect == "cce" ? dialects::cce::family : dialects::nvidia::gpu_family;
    if (kind.mode == "mig") read_mig_offers(object, catalog, device);
    if (kind.dialect == "ascend_hami") read_npu(object, catalog, kind);
    if (kind.dialect == "mindcluster") read_310p(object, device);
    if (object.has("slots")) {
        if (kind.dialect != "volcano_vgpu" && kind.dialect != "hami") {
            object.fail_key(error_code::unsupported, "slots",
                            "modes hami_core, mig and mps, where plugins are told it");
        }
        device.slots = object.at("slots").integer({1, 1000});
    }
}

document text_document(const vgpualloc::kubernetes::text_map& map) { return document::map_of(map); }

} // namespace

std::vector<std::string_view> dialects_of_mode(std::string_view mode) {
    std::vector<std::string_view> possible;
    const auto* const spelling = std::ranges::find(spellings, mode, &mode_spelling::mode);
    if (spelling == spellings.end()) return possible;
    std::ranges::copy_if(spelling->dialects, std::back_inserter(possible), [](auto name) { return !name.empty(); });
    return possible;
}

std::vector<std::string_view> modes_of_dialect(std::string_view dialect) {
    std::vector<std::string_view> possible;
    for (const mode_spelling& spelling : spellings) {
        if (std::ranges::find(spelling.dialects, dialect) != spelling.dialects.end()) possible.push_back(spelling.mode);
    }
    return possible;
}

workload_node_kind read_workload_node_kind(const cursor& object, const hardware_catalog& catalog,
                                           const std::string& mig_dialect) {
    object.only({"count", "weight", "prefix", "kind", "mode", "dialect", "devices", "device_memory_mib", "slots",
                 "ai_cores", "profiles", "cpu_milli", "memory_mib", "pods", "labels"});
    workload_node_kind kind;
    if (object.has("prefix")) kind.prefix = read_prefix(object.at("prefix"));
    kind.cpu_milli = object.at("cpu_milli").integer({0, limits::amount_max});
    kind.memory_mib = object.at("memory_mib").integer({0, limits::amount_max});
    kind.pods_max = object.maybe_integer("pods", {1, 1'000'000}).value_or(kind.pods_max);
    for (auto& [key, value] : object.maybe_dictionary("labels")) kind.labels.emplace(key, value);
    kind.devices = object.maybe_integer("devices", {0, limits::gpus_per_node_max}).value_or(0);
    if (kind.devices == 0) {
        for (const std::string_view key :
             {"kind", "mode", "dialect", "device_memory_mib", "slots", "ai_cores", "profiles"}) {
            if (!object.has(key)) continue;
            object.at(key).fail(error_code::unsupported, "a number of \"devices\" beside it, as the node has none");
        }
        return kind;
    }
    std::vector<std::string_view> modes;
    for (const mode_spelling& spelling : spellings) modes.push_back(spelling.mode);
    const mode_spelling& spelling = spellings[object.at("mode").one_of(modes)];
    kind.mode = spelling.mode;
    kind.dialect = spelling.dialects.front();
    if (object.has("dialect")) {
        const auto possible = dialects_of_mode(kind.mode);
        kind.dialect = possible[object.at("dialect").one_of(possible)];
    }
    if (kind.mode == "mig" && !mig_dialect.empty()) kind.dialect = mig_dialect;
    if (object.has("ai_cores") && kind.dialect != "mindcluster") {
        object.fail_key(error_code::unsupported, "ai_cores", "mode mindcluster_310p");
    }
    if (object.has("profiles") && kind.mode != "mig") object.fail_key(error_code::unsupported, "profiles", "mode mig");
    read_devices(object, catalog, kind);
    return kind;
}

std::vector<document> node_objects(const workload_node_kind& kind, const std::string& name,
                                   const vgpualloc::dialect_set& dialects) {
    vgpualloc::kubernetes::node node;
    node.name = name;
    node.labels = kind.labels;
    node.labels["kubernetes.io/hostname"] = name;
    node.allocatable = {{"cpu", std::to_string(kind.cpu_milli) + "m"},
                        {"memory", std::to_string(kind.memory_mib) + "Mi"},
                        {"pods", std::to_string(kind.pods_max)}};
    node.capacity = node.allocatable;
    std::vector<device_registration> devices(static_cast<std::size_t>(kind.devices), kind.device);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const bool is_310p = kind.dialect == "mindcluster";
        const std::string kind_word = kind.dialect == "ascend_hami" ? "NPU-" : "GPU-";
        devices[i].uuid = (is_310p ? "Ascend310P-" : kind_word + name + "-") + std::to_string(i);
        if (kind.pairs) devices[i].link_group = static_cast<std::int32_t>(i / 2);
    }
    vgpualloc::kubernetes::text_map config_map;
    const vgpualloc::dialect* const spoken = dialects.find(kind.dialect);
    if (spoken != nullptr && !devices.empty()) spoken->write_node(devices, node, config_map);
    document object = document::map({{"apiVersion", "v1"}, {"kind", "Node"}});
    object["metadata"]["name"] = name;
    object["metadata"]["labels"] = text_document(node.labels);
    if (!node.annotations.empty()) object["metadata"]["annotations"] = text_document(node.annotations);
    object["status"]["capacity"] = text_document(node.capacity);
    object["status"]["allocatable"] = text_document(node.allocatable);
    object["status"]["conditions"].push_back(document::map({{"type", "Ready"}, {"status", "True"}}));
    std::vector<document> objects{std::move(object)};
    if (config_map.empty()) return objects;
    document map = document::map({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"]["name"] = spoken->config_map_of(name);
    map["metadata"]["namespace"] = "kube-system";
    map["data"] = text_document(config_map);
    objects.push_back(std::move(map));
    return objects;
}

} // namespace vgputraces
