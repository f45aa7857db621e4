// HAMi's ranking, by a pod's annotations.
#include "explain/hami.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace vgpualloc::explaining {

namespace {

using policies::hami_order;
using policies::hami_weights;

constexpr const char* node_key = "hami.io/node-scheduler-policy";
constexpr const char* gpu_key = "hami.io/gpu-scheduler-policy";
constexpr const char* weights_key = "hami.io/device-scoring-weights";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> parts_of(std::string_view list) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto comma = list.find(',');
        parts.push_back(trimmed(list.substr(0, comma)));
        if (comma == std::string_view::npos) return parts;
        list.remove_prefix(comma + 1);
    }
}

const char* word_of(hami_order order) { return order == hami_order::binpack ? "binpack" : "spread"; }

/// HAMi compares with one word and takes the other one for any other text.
hami_order order_of(const std::string& written, hami_order compared, hami_order otherwise) {
    return written == word_of(compared) ? compared : otherwise;
}

std::string words_of(const char* what, hami_order order, bool annotated, const char* key, const char* flag) {
    return std::string{what} + " " + word_of(order) + (annotated ? " (the pod's " : " (HAMi's default of flag ") +
           (annotated ? key : flag) + ")";
}

/// A list of keys orders by the first of them that is known, and then by NUMA node, which is so in any case; `mutex`
/// and `topology-aware` restrict or choose besides.
hami_order order_of_list(const std::string& written, std::vector<std::string>& not_considered) {
    const auto keys = parts_of(written);
    const auto names = [&keys](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
    for (const char* const key : {"mutex", "topology-aware"}) {
        if (names(key)) not_considered.push_back(std::string{key} + " of " + gpu_key + ": " + written);
    }
    if (keys.size() == 1 && keys.front() != "numa") return order_of(written, hami_order::binpack, hami_order::spread);
    for (const std::string_view key : keys) {
        if (key == "numa")
            not_considered.push_back("that NUMA nodes come first of " + std::string{gpu_key} + ": " + written);
        if (key == "binpack") return hami_order::binpack;
        if (key == "spread") return hami_order::spread;
    }
    return hami_order::spread;
}

std::optional<hami_weights> read_weights(std::string_view written) {
    hami_weights weights;
    const std::array<std::pair<std::string_view, std::int64_t*>, 3> fields{
        {{"slot", &weights.slots}, {"core", &weights.cores}, {"memory", &weights.memory}}};
    const auto parts = parts_of(written);
    if (parts.size() != fields.size()) return std::nullopt;
    std::vector<std::string_view> seen;
    for (const std::string_view part : parts) {
        const auto equals = part.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view key = trimmed(part.substr(0, equals));
        const std::string_view digits = trimmed(part.substr(equals + 1));
        const auto field = std::ranges::find(fields, key, [](const auto& entry) { return entry.first; });
        if (field == fields.end() || std::ranges::find(seen, key) != seen.end()) return std::nullopt;
        seen.push_back(key);
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), *field->second);
        if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || *field->second < 0) {
            return std::nullopt;
        }
    }
    if (weights == hami_weights{.slots = 0, .cores = 0, .memory = 0}) return std::nullopt;
    return weights;
}

} // namespace

expected<hami_choice> hami_choice_of(const kubernetes::pod& pod) {
    hami_choice choice;
    const auto node_order = pod.annotations.find(node_key);
    const auto gpu_order = pod.annotations.find(gpu_key);
    const auto weights = pod.annotations.find(weights_key);
    const bool nodes_annotated = node_order != pod.annotations.end();
    const bool gpus_annotated = gpu_order != pod.annotations.end();
    if (nodes_annotated) {
        choice.ranking.nodes = order_of(node_order->second, hami_order::spread, hami_order::binpack);
    }
    if (gpus_annotated) choice.ranking.gpus = order_of_list(gpu_order->second, choice.not_considered);
    choice.words = words_of("nodes", choice.ranking.nodes, nodes_annotated, node_key, "node-scheduler-policy") + ", " +
                   words_of("GPUs", choice.ranking.gpus, gpus_annotated, gpu_key, "gpu-scheduler-policy");
    if (weights != pod.annotations.end()) {
        const auto read = read_weights(weights->second);
        if (!read) {
            return unexpected(bad_value(error_code::malformed, weights_key, weights->second,
                                        "slot=<n>,core=<n>,memory=<n>, whole numbers of which one is above 0; "
                                        "HAMi schedules the pod nowhere"));
        }
        choice.ranking.weights = *read;
        choice.words += ", weights " + weights->second;
    }
    if (pod.annotations.contains("nvidia.com/numa-bind")) {
        choice.not_considered.emplace_back("that NUMA nodes come first (nvidia.com/numa-bind)");
    }
    return choice;
}

} // namespace vgpualloc::explaining
