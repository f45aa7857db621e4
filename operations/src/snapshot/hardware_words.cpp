// Words of formats and hardware.
#include "hardware_words.hpp"

#include <algorithm>
#include <array>
#include <ranges>

namespace vgpuops::snapshots {

namespace {

/// Annotations that dialects read; those of NPUs, whose names have the NPU's in them, are made of `annotation_words`.
constexpr std::array annotations_read{"volcano.sh/node-vgpu-register",
                                      "volcano.sh/gpu-unhealthy-ids",
                                      "volcano.sh/vgpu-mode",
                                      "volcano.sh/vgpu-ids-new",
                                      "volcano.sh/vgpu-nouse-gpuuuid",
                                      "volcano.sh/vgpu-use-gpuuuid",
                                      "volcano.sh/vgpu-podgroup-policy",
                                      "volcano.sh/vgpu-priority",
                                      "volcano.sh/devices-to-allocate",
                                      "volcano.sh/bind-phase",
                                      "volcano.sh/gpu-index",
                                      hami_handshake.data(),
                                      "nvidia.com/use-gputype",
                                      "nvidia.com/nouse-gputype",
                                      "nvidia.com/use-gpuuuid",
                                      "nvidia.com/nouse-gpuuuid",
                                      "nvidia.com/vgpu-mode",
                                      "nvidia.com/priority",
                                      "nvidia.com/numa-bind",
                                      "huawei.com/vnpu-mode",
                                      "huawei.com/npu-core",
                                      "huawei.com/AscendReal",
                                      "vgpualloc.io/cce-node-register",
                                      "vgpualloc.io/cce-devices-allocated",
                                      "baseDeviceInfos",
                                      "hami-vnpu-core"};
constexpr std::array annotation_words{"node",        "register",  "nvidia",  "use",      "no",     "uuid",
                                      "devices",     "allocated", "to",      "allocate", "vgpu",   "mig",
                                      "allocations", "bind",      "phase",   "device",   "cordon", "scheduler",
                                      "policy",      "gpu",       "scoring", "weights"};
constexpr std::array node_annotations{"volcano.sh/vgpu-node", "hami.io/vgpu-node"};
constexpr std::array group_annotations{"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"};
constexpr std::array queue_keys{"kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name",
                                "volcano.sh/queue-name"};
/// Parts of model names, which need not be those of a device that is there.
constexpr std::array type_annotations{"nvidia.com/use-gputype", "nvidia.com/nouse-gputype"};

/// Labels that dialects read. What feature discovery says of a resource ends with one of `discovery_words`.
constexpr std::array labels_read{"accelerator",
                                 "servertype",
                                 "node.kubernetes.io/npu.chip.name",
                                 "nvidia.com/mig.strategy",
                                 "nvidia.com/mig.config",
                                 "pod-template-hash",
                                 "nvidia.com/gpu.compute.major",
                                 "nvidia.com/cuda.runtime-version.major",
                                 "nvidia.com/cuda.runtime-version.minor",
                                 "nvidia.com/cuda.runtime.major",
                                 "nvidia.com/cuda.runtime.minor",
                                 "hami.io/webhook",
                                 "vnpu-dvpp",
                                 "vnpu-level",
                                 "ring-controller.atlas"};
/// Labels of clouds that say what feature discovery does elsewhere.
constexpr std::array cloud_labels{"cloud.google.com/gke-accelerator",
                                  "cloud.google.com/gke-accelerator-count",
                                  "cloud.google.com/gke-gpu-partition-size",
                                  "cloud.google.com/gke-gpu-sharing-strategy",
                                  "cloud.google.com/gke-max-shared-clients-per-gpu",
                                  "karpenter.k8s.aws/instance-gpu-name",
                                  "karpenter.k8s.aws/instance-gpu-count",
                                  "karpenter.k8s.aws/instance-gpu-memory",
                                  "karpenter.k8s.aws/instance-gpu-manufacturer",
                                  "eks.amazonaws.com/instance-gpu-name",
                                  "eks.amazonaws.com/instance-gpu-count",
                                  "eks.amazonaws.com/instance-gpu-memory",
                                  "eks.amazonaws.com/instance-gpu-manufacturer",
                                  "karpenter.azure.com/sku-gpu-name",
                                  "karpenter.azure.com/sku-gpu-count",
                                  "karpenter.azure.com/sku-gpu-manufacturer",
                                  "k8s.amazonaws.com/accelerator",
                                  "nvidia.com/gpu.deploy.device-plugin"};
constexpr std::array discovery_words{".product", ".memory", ".replicas", ".sharing-strategy", ".count"};

/// Words of the formats that annotations are in, and of what dialects compare with.
constexpr std::string_view format_words =
    "id count devmem devcore type mode health index numa migProfiles name size start memoryMB core memory cores "
    "sliceCount placements placement custominfo NetworkID containerIndex deviceIndex gpuUUID profile model "
    "DeviceInfo DeviceList huawei.com huawei ascend Unhealthy NetworkUnhealthy Ascend Ascend310P Ascend910 310P "
    "NVIDIA GPU NPU true false null yes no high low whole success allocating failed spread binpack "
    "topology-aware mutex slot single mixed none time-slicing mps mig hami-core ignore 1c 2c 4c 8c 16c 1cpu 3cpu "
    "4cpu dvpp ndvpp exclusive share SHARED MIG vGPU all balanced disabled "
    "time-sharing nvidia amd habana nvidia-tesla-k80 nvidia-tesla-p4 nvidia-tesla-p100 nvidia-tesla-v100 "
    "nvidia-tesla-t4 nvidia-tesla-a100 nvidia-a100-80gb nvidia-l4 nvidia-h100-80gb nvidia-h100-mega-80gb "
    "nvidia-h200-141gb nvidia-b200 nvidia-gb200 nvidia-rtx-pro-6000 k80 m60 v100 t4 t4g a10 a10g a100 l4 l40s h100 "
    "h200 b200 b300 gb200 gb300 T4 V100 A10 A100 H100 H200";

template <std::size_t Count>
bool is_one_of(std::string_view text, const std::array<const char*, Count>& words) {
    return std::ranges::any_of(words, [text](const char* word) { return text == word; });
}

void keep_device(const kube::snapshot_device& device, pseudonyms& names) {
    const auto& registered = device.registered;
    for (const std::string* const word :
         {&registered.model, &registered.family, &registered.mode, &registered.npu.name}) {
        names.keep_word(*word);
    }
    for (const auto& part : registered.npu.templates) names.keep_word(part.name);
    for (const auto& offer : registered.offers) names.keep_word(offer.name);
    for (const auto& group : registered.geometry) {
        names.keep_word(group.name);
        for (const auto& kind : group.kinds) names.keep_word(kind.name);
    }
    // Chips of MindCluster are called by their kind and number.
    if (device.dialect != "mindcluster") names.know_device(registered.uuid);
}

} // namespace

npu_words keep_hardware_words(const kube::snapshot& state, pseudonyms& names) {
    npu_words npus_known;
    for (const auto& word : std::views::split(format_words, ' ')) names.keep_word({word.begin(), word.end()});
    for (const char* const word : annotation_words) names.keep_word(word);
    for (const auto& npus : state.dialects.config().devices.vnpus) {
        names.keep_word(npus.kind.name);
        names.keep_word(npus.chip_name);
        npus_known.insert(npus.kind.name);
        for (const auto& part : npus.kind.templates) names.keep_word(part.name);
    }
    for (const auto& model : state.dialects.config().mig->models) {
        names.keep_word(model.name);
        for (const auto& type : model.card_types) names.keep_word(type);
        for (const auto& profile : model.profiles) {
            names.keep_word(profile.name);
            names.know_profile(profile.name);
        }
    }
    for (const auto& on_node : state.devices) {
        for (const auto& device : on_node) keep_device(device, names);
    }
    return npus_known;
}

bool names_node(std::string_view key) { return is_one_of(key, node_annotations); }
bool names_group(std::string_view key) { return is_one_of(key, group_annotations); }
bool names_queue(std::string_view key) { return is_one_of(key, queue_keys); }
bool names_types(std::string_view key) { return is_one_of(key, type_annotations); }

bool is_annotation_read(const std::string& key, const npu_words& npus) {
    if (is_one_of(key, annotations_read) || names_node(key) || names_group(key) || names_queue(key)) return true;
    constexpr std::string_view domain = "hami.io/";
    if (!key.starts_with(domain)) return false;
    std::string rest = key.substr(domain.size());
    for (const std::string& npu : npus) { // the longer of two that begin alike comes first
        const auto at = rest.find(npu);
        if (at == std::string::npos) continue;
        const bool ends = at + npu.size() == rest.size() || rest[at + npu.size()] == '-';
        if (ends) rest.replace(at, npu.size(), "npu");
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
        if (i < rest.size() && rest[i] != '-') continue;
        const std::string part = rest.substr(begin, i - begin);
        if (part != "npu" && !is_one_of(part, annotation_words)) return false;
        begin = i + 1;
    }
    return true;
}

bool is_label_read(std::string_view key, const pseudonyms& names) {
    if (is_one_of(key, labels_read) || is_one_of(key, cloud_labels)) return true;
    constexpr std::string_view domain = "nvidia.com/";
    const auto word = std::ranges::find_if(discovery_words, [key](const char* end) { return key.ends_with(end); });
    if (!key.starts_with(domain) || word == discovery_words.end()) return false;
    key.remove_prefix(domain.size());
    key.remove_suffix(std::min(key.size(), std::string_view{*word}.size()));
    if (key.starts_with("mig-")) return true; // its profile may be a name, and the rest is none
    return key == "gpu.shared" || names.is_plain(key);
}

std::size_t length_of_resource(std::string_view label) {
    const auto word = std::ranges::find_if(discovery_words, [&](const char* end) { return label.ends_with(end); });
    const bool is_of_mig = label.starts_with(mig_resources) && word != discovery_words.end();
    return is_of_mig ? label.size() - std::string_view{*word}.size() : 0;
}

bool is_amount(std::string_view text) {
    constexpr std::ptrdiff_t digits_max = 18; // bytes of the largest host
    constexpr std::ptrdiff_t unit_max = 4;
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto unit = std::ranges::find_if_not(text, [&](char c) { return is_digit(c) || c == '.'; });
    const std::string_view number{text.begin(), unit};
    const auto digits = std::ranges::count_if(number, is_digit);
    return digits > 0 && digits <= digits_max && std::ranges::count(number, '.') <= 1 &&
           text.end() - unit <= unit_max && std::all_of(unit, text.end(), [&](char c) {
               return is_digit(c) || c == '+' || c == '-' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
           });
}

} // namespace vgpuops::snapshots
