// The hami dialect: requests that can be read, but that no GPU serves, that HAMi's webhook refuses, or that it takes
// for something else.
#include <algorithm>
#include <array>
#include <utility>

#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "text.hpp"

namespace vgpualloc::dialects::hami {

namespace {

void check_container(const kubernetes::container& container, const options& configured, request_findings& findings) {
    text::check_amounts(container, configured.count_name, configured.memory_name, mib{configured.memory_factor},
                        findings);
    const auto count = container.requests.find(configured.count_name);
    if (count != container.requests.end() && count->second == 0) {
        text::note_ignored_beside_none(
            container, configured.count_name,
            {configured.memory_name, configured.memory_percentage_name, configured.cores_name}, findings);
        return;
    }
    const auto amount = [&container](const std::string& name) {
        const auto entry = container.requests.find(name);
        return entry == container.requests.end() ? 0 : entry->second;
    };
    if (amount(configured.memory_name) > 0 && amount(configured.memory_percentage_name) > 0) {
        findings.notes.push_back(
            text::ignored_words(container, configured.memory_percentage_name, configured.memory_name));
    }
    if (amount(configured.cores_name) > percent_max) {
        findings.notes.push_back(
            "container " + container.name + ": " + configured.cores_name + " " +
            kubernetes::written_of(container, configured.cores_name, amount(configured.cores_name)) +
            " counts as 100, all of a GPU's compute");
    }
}

/// A comma list of words; HAMi takes a text that it does not know for its default.
void check_words(const kubernetes::pod& pod, const char* annotation, std::span<const std::string_view> words,
                 request_findings& findings) {
    const auto entry = pod.annotations.find(annotation);
    if (entry == pod.annotations.end()) return;
    for (const std::string& word : text::items(entry->second)) {
        if (std::ranges::find(words, word) != words.end()) continue;
        std::string list;
        for (const std::string_view known : words) list += (list.empty() ? "" : ", ") + std::string{known};
        findings.errors.push_back(
            bad_value(error_code::unknown_name, "annotation " + std::string{annotation}, word, "one of " + list));
    }
}

} // namespace

request_findings hami_dialect::check_pod(const kubernetes::pod& pod) const {
    constexpr std::array<std::string_view, 2> node_policies{"binpack", "spread"};
    constexpr std::array<std::string_view, 5> gpu_policies{"binpack", "spread", "mutex", "numa", "topology-aware"};
    request_findings findings;
    for (const kubernetes::container* container : text::all_containers(pod)) {
        check_container(*container, options_, findings);
    }
    check_words(pod, "hami.io/node-scheduler-policy", node_policies, findings);
    check_words(pod, "hami.io/gpu-scheduler-policy", gpu_policies, findings);
    hami_text::check_privileged(pod, findings);
    return findings;
}

} // namespace vgpualloc::dialects::hami
