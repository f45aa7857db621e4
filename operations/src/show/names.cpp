// Names of tables.
#include "vgpuops/show/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <fmt/format.h>

#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

namespace {

std::string upper(std::string_view text) {
    std::string result{text};
    for (char& c : result) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return result;
}

/// Words of a model that say who made the board, how it is connected, or that it is shared.
bool is_noise(std::string_view word) {
    constexpr std::array<std::string_view, 6> words{"NVIDIA", "TESLA", "SHARED", "PCIE", "SXM", "HBM"};
    const std::string written = upper(word);
    std::string_view stem = written;
    if (stem.starts_with("SXM") || stem.starts_with("HBM")) { // with a number behind it: SXM4, HBM3
        while (!stem.empty() && stem.back() >= '0' && stem.back() <= '9') stem.remove_suffix(1);
    }
    return std::ranges::find(words, stem) != words.end();
}

/// "gpu", "npu", "mig-3g.40gb": what is counted where no amount is asked for.
std::string unit_word(const vgpualloc::device_request& request) {
    if (!request.profile.empty()) return "mig-" + request.profile;
    const std::string family = upper(request.family);
    return family.find("ASCEND") != std::string::npos || family.find("310P") != std::string::npos ? "npu" : "gpu";
}

void add_device_words(const vgpualloc::device_request& request, std::vector<std::string>& words) {
    const bool has_memory = request.memory > vgpualloc::mib{0} || request.memory_percent;
    const std::string times = request.count > 1 ? fmt::format("{} x ", request.count) : "";
    if (request.memory_percent) {
        words.push_back(fmt::format("{}{} % memory", times, *request.memory_percent));
    } else if (has_memory) {
        words.push_back(fmt::format("{}{} MiB", times, request.memory.count()));
    } else {
        words.push_back(fmt::format("{} {}", request.count, unit_word(request)));
    }
    const bool is_whole = !has_memory && request.cores == vgpualloc::whole_compute;
    if (request.cores > vgpualloc::core_percent{0} && !is_whole) {
        words.push_back(fmt::format("{} cores", request.cores.count()));
    }
    for (const auto* const names : {&request.models, &request.types_allowed}) {
        if (names->empty()) continue;
        std::string either;
        for (const std::string& name : *names) either += (either.empty() ? "" : "|") + short_model(name);
        words.push_back(either);
    }
    for (const std::string& name : request.types_denied) words.push_back("not " + name);
}

} // namespace

std::string gpu_words(std::int64_t milli) {
    return thousandths(milli) + (milli == 1000 ? " GPU" : " GPUs"); // thousandths of one
}

std::string thousandths(std::int64_t amount) {
    std::string digits = fmt::format("{}.{:03}", amount / 1000, amount % 1000);
    while (digits.ends_with('0')) digits.pop_back();
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
}

std::string short_model(std::string_view whole_name) {
    std::string result;
    std::string_view model = whole_name;
    while (!model.empty()) {
        const std::size_t end = std::min(model.find_first_of(" -_"), model.size());
        const std::string_view word = model.substr(0, end);
        if (!word.empty() && !is_noise(word)) result += (result.empty() ? "" : "-") + std::string{word};
        model.remove_prefix(std::min(end + 1, model.size()));
    }
    if (!result.empty()) return result;
    return std::string{whole_name.empty() ? unknown_word : whole_name};
}

void model_names::add(const std::string& model) {
    constexpr std::string_view shared = "-SHARED";
    const std::size_t end = model.ends_with(shared) ? model.size() - shared.size() : model.size();
    models_[short_model(model)].insert(model.substr(0, end));
}

std::string model_names::name_of(const std::string& model) const {
    const std::string name = short_model(model);
    const auto entry = models_.find(name);
    const bool is_alone = entry == models_.end() || entry->second.size() == 1;
    return is_alone || model.empty() ? name : model;
}

std::string pool_of(const vgpualloc::node& node) {
    for (const std::string_view key : pool_labels) {
        if (const std::string* const value = node.host.label(key)) return *value;
    }
    return {};
}

std::string sharing_name(const vgpualloc::node& node, const kube::snapshot_device& device) {
    const vgpualloc::device_registration& registered = device.registered;
    if (registered.mode == "exclusive") return "whole";
    std::string name = registered.mode;
    std::ranges::replace(name, '_', '-');
    if (registered.mode == "time_slicing" || registered.mode == "mps") {
        return fmt::format("{} x{}", name, registered.slots);
    }
    if (registered.mode != "mig") return name;
    if (const std::string* const layout = node.host.label("nvidia.com/mig.config")) return name + " " + *layout;
    if (registered.geometry.size() != 1) return name;
    std::string instances;
    for (const vgpualloc::mig_kind& cut : registered.geometry.front().kinds) {
        instances += fmt::format("{}{}x{}", instances.empty() ? " " : "+", cut.count, cut.name);
    }
    return name + instances;
}

std::vector<std::string> shape_rules(const vgpualloc::pod_request& request) {
    const vgpualloc::host_rules& rules = request.rules;
    std::vector<std::string> words;
    for (const auto& [key, value] : rules.node_selector) words.push_back(key + "=" + value);
    if (rules.has_affinity) words.emplace_back("node affinity");
    for (const vgpualloc::toleration& tolerated : rules.tolerations) {
        if (tolerated.key.starts_with("node.kubernetes.io/")) continue; // Kubernetes adds these
        if (tolerated.key.empty()) {
            words.emplace_back("any taint");
        } else {
            words.push_back(tolerated.any_value ? tolerated.key : tolerated.key + "=" + tolerated.value);
        }
    }
    if (request.peers.empty()) return words;
    const auto has = [&](vgpualloc::peer_rule_kind kind) {
        return std::ranges::any_of(request.peers->rules, [&](const auto& rule) { return rule.kind == kind; });
    };
    if (has(vgpualloc::peer_rule_kind::spread)) words.emplace_back("topology spread");
    if (has(vgpualloc::peer_rule_kind::together)) words.emplace_back("pod affinity");
    if (has(vgpualloc::peer_rule_kind::apart)) words.emplace_back("pod anti-affinity");
    return words;
}

namespace {

std::vector<std::string> words_of_devices(const vgpualloc::pod_request& request) {
    std::vector<std::string> words;
    for (const vgpualloc::device_request& devices : asked_devices(request)) add_device_words(devices, words);
    return words;
}

} // namespace

std::string devices_name(const vgpualloc::pod_request& request) {
    return vgpuformats::joined(words_of_devices(request));
}

std::string shape_name(const kube::snapshot_pod& pod) {
    std::vector<std::string> words = words_of_devices(pod.request);
    if (pod.request.cpu > vgpualloc::milli_cpu{0}) words.push_back(thousandths(pod.request.cpu.count()) + " cpu");
    for (std::string& rule : shape_rules(pod.request)) words.push_back(std::move(rule));
    std::string name;
    for (const std::string& word : words) name += (name.empty() ? "" : ", ") + word;
    return name;
}

std::string host_memory_words(vgpualloc::bytes memory) {
    constexpr std::int64_t mib_per_gib = 1024;
    const std::int64_t amount = vgpualloc::mib_up(memory);
    return amount % mib_per_gib == 0 ? fmt::format("{} GiB", amount / mib_per_gib) : fmt::format("{} MiB", amount);
}

namespace {

/// Names that differ in the number at their end, in sequence.
struct name_run {
    std::string_view prefix;
    std::string_view first; ///< digits
    std::string_view last;
    std::size_t names = 1;
};

/// The digits at the end of a name, as many as are a number of 18 digits.
std::string_view last_digits(std::string_view name) {
    constexpr std::size_t digits_max = 18;
    std::size_t digits = 0;
    while (digits < std::min(name.size(), digits_max) &&
           std::isdigit(static_cast<unsigned char>(name[name.size() - digits - 1])) != 0) {
        ++digits;
    }
    return name.substr(name.size() - digits);
}

std::int64_t number_of(std::string_view digits) {
    std::int64_t number = 0;
    for (const char digit : digits) number = number * 10 + (digit - '0');
    return number;
}

/// Whether `next` is the number after `last`, written alike: with as many digits, or both without zeros before it.
bool follows(std::string_view last, std::string_view next) {
    if (last.empty() || next.empty() || number_of(next) != number_of(last) + 1) return false;
    return last.size() == next.size() || (last.front() != '0' && next.front() != '0');
}

} // namespace

std::vector<folded_name> fold(const std::vector<std::string>& names) {
    std::vector<name_run> runs;
    for (const std::string_view name : names) {
        const std::string_view digits = last_digits(name);
        runs.push_back({.prefix = name.substr(0, name.size() - digits.size()), .first = digits, .last = digits});
    }
    std::ranges::stable_sort(runs, {},
                             [](const name_run& run) { return std::tuple{run.prefix, number_of(run.first)}; });
    std::vector<name_run> folded;
    for (const name_run& run : runs) {
        if (!folded.empty() && folded.back().prefix == run.prefix && follows(folded.back().last, run.first)) {
            folded.back().last = run.last;
            ++folded.back().names;
        } else {
            folded.push_back(run);
        }
    }
    std::vector<folded_name> result;
    for (const auto& [prefix, first, last, count] : folded) {
        const std::string number = count == 1 ? std::string{first} : fmt::format("[{}-{}]", first, last);
        result.push_back({.text = std::string{prefix} + number, .names = count});
    }
    return result;
}

std::string folded_names(const std::vector<std::string>& names, std::size_t pieces_max) {
    const std::vector<folded_name> pieces = fold(names);
    std::string result;
    std::size_t names_left = names.size();
    for (std::size_t i = 0; i < std::min(pieces.size(), pieces_max); ++i) {
        result += (i == 0 ? "" : ", ") + pieces[i].text;
        names_left -= pieces[i].names;
    }
    return names_left == 0 ? result : fmt::format("{} and {} more", result, names_left);
}

} // namespace vgpuops::show
