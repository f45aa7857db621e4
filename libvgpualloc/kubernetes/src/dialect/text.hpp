// Pieces of text that annotations are made of (lists, whole numbers, truth values, Kubernetes quantities), and what
// several dialects read of them alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::dialects::text {

/// The parts between separators; always at least one.
[[nodiscard]] std::vector<std::string_view> split(std::string_view whole, char separator);

/// Like split(), but a last part that is empty, as after a closing separator, is left out.
[[nodiscard]] std::vector<std::string_view> split_closed(std::string_view whole, char separator);

/// bad_value(), or where the value is missing "<field>: missing; expected <expected>", as there is none to quote.
[[nodiscard]] error bad_or_missing(error_code code, std::string_view field, std::string_view value,
                                   std::string expected_text);

/// Without spaces, tabs and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view whole);

/// Whether there is no control character in it: ids and names of models are printed as they are.
[[nodiscard]] bool is_printable(std::string_view whole) noexcept;

/// The parts of a comma list, trimmed; empty ones are left out.
[[nodiscard]] std::vector<std::string> items(std::string_view list);

/// A decimal number of digits only, at most `most`.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view digits, std::int64_t most);

/// The truth values that Go's strconv.ParseBool knows.
[[nodiscard]] std::optional<bool> truth(std::string_view word);

/// Whether `written` looks like `meant` mistyped: other letters' case, cut short, or up to two letters wrong (one in
/// words below six letters).
[[nodiscard]] bool is_misspelled(std::string_view written, std::string_view meant);

/// The value of a Kubernetes quantity ("16", "100k", "2Ti", "1e3", "500m"), rounded up to a whole number as Kubernetes
/// does; none if it is no quantity, negative or above 2^63 - 1.
[[nodiscard]] std::optional<std::int64_t> quantity(std::string_view written);

/// Whether the resource is one that Kubernetes counts by whole numbers and knows nothing else of: an extended resource
/// (nvidia.com/gpu), or one of Kubernetes' own that has a domain (example.kubernetes.io/device). Source:
/// k8s.io/kubernetes, pkg/apis/core/v1/helper, IsExtendedResourceName and IsPrefixedNativeResource.
[[nodiscard]] bool is_scalar_resource(std::string_view resource);

/// Whether the node has some of the resource allocatable. An amount that cannot be read is none.
[[nodiscard]] bool offers(const kubernetes::node& node, const std::string& resource);

/// The node that annotation `node_key` names, unless annotation `phase_key` says that binding there failed: such a pod
/// is to be scheduled anew, but its annotations stay. Empty: none.
[[nodiscard]] std::string binding_node(const kubernetes::pod& pod, const std::string& node_key,
                                       const std::string& phase_key);

/// What an amount of device memory has to be, in units of `unit`, and what was most likely meant where it is written
/// with a suffix: "MiB as a whole number from 0 to 2147483647: write 8192" for 8Gi.
[[nodiscard]] std::string memory_expected(const std::string& written, mib unit, std::int64_t most);

/// Notes what of two amounts that are both given does not count.
[[nodiscard]] std::string ignored_words(const kubernetes::container& from, const std::string& ignored,
                                        const std::string& winner);

/// Notes that a container asks for none of `count_name`, so that amounts of `others` do not count.
void note_ignored_beside_none(const kubernetes::container& from, const std::string& count_name,
                              const std::vector<std::string>& others, request_findings& findings);

/// Amounts that no node can serve: more devices than one has, more memory than any device. `memory` in MiB.
void check_amounts(const kubernetes::container& from, const std::string& count_name, const std::string& memory_name,
                   mib unit, request_findings& findings);

/// The containers of a pod, init containers first.
[[nodiscard]] std::vector<const kubernetes::container*> all_containers(const kubernetes::pod& pod);

/// Whether a container names one of the resources.
[[nodiscard]] bool names_any(const kubernetes::pod& pod, std::span<const std::string> resources);

/// Percent of one card: more than all of it fits nowhere.
void check_percent(const std::string& resource, std::int64_t value, const std::string& container,
                   request_findings& findings);

} // namespace vgpualloc::dialects::text
