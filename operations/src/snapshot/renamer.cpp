// Names of values into pseudonyms.
#include "renamer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "vgpualloc/kube/pod_sets.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

std::string renamer::name(name_class kind, const std::string& text) { return names_.of(kind, text); }

void renamer::rename(document& object, std::string_view member, name_class kind) {
    change_text(object, member, [&](const std::string& text) { return name(kind, text); });
}

void renamer::change_text(document& object, std::string_view member,
                          const std::function<std::string(const std::string&)>& change) {
    if (object.find(member) == nullptr) return;
    document& value = object[member];
    if (value.is_text())
        value.text = change(value.text);
    else
        hide(value);
}

void renamer::keep_members(document& object, std::initializer_list<std::string_view> members) {
    std::erase_if(object.members,
                  [&](const auto& member) { return std::ranges::find(members, member.first) == members.end(); });
}

void renamer::hide_no_amount(document& amount) {
    if (amount.kind != value_kind::number && !(amount.is_text() && is_amount(amount.text))) hide(amount);
}

void renamer::hide_no_number(document& object, std::string_view member) {
    if (object.find(member) != nullptr && object[member].kind != value_kind::number) hide(object[member]);
}

void renamer::hide(document& value) {
    if (value.kind == value_kind::number) hide_long(value);
    if (value.is_text()) value.text = name(name_class::word, value.text);
    for (document& item : value.items) hide(item);
    for (auto& [key, member] : value.members) {
        key = name(name_class::word, key);
        hide(member);
    }
}

void renamer::keep_words(document& object, std::string_view member, std::initializer_list<std::string_view> words) {
    if (object.find(member) != nullptr) keep_word(object[member], words);
}

void renamer::keep_word(document& value, std::initializer_list<std::string_view> words) {
    if (!value.is_text() || std::ranges::find(words, value.text) == words.end()) hide(value);
}

void renamer::empty_items(document& object, std::string_view member) {
    if (object.find(member) == nullptr) return;
    document& list = object[member];
    if (!list.is_list()) return hide(list);
    for (document& item : list.items) item = document::map();
}

std::string renamer::label_key(const std::string& key) {
    if (const std::size_t length = length_of_resource(key); length > 0) {
        return resource_name(key.substr(0, length)) + key.substr(length);
    }
    // Labels whose values are names: nodes that are added get that of the host for themselves.
    constexpr std::array<std::string_view, 4> of_names{vgpualloc::hostname_label, vgpualloc::kube::namespace_label,
                                                       "topology.kubernetes.io/zone", "topology.kubernetes.io/region"};
    const bool is_of_name = std::ranges::find(of_names, key) != of_names.end() || names_queue(key) ||
                            std::ranges::find(show::pool_labels, key) != show::pool_labels.end();
    return is_label_read(key, names_) || is_of_name ? key : name(name_class::label_key, key);
}

std::string renamer::queue_name(const std::string& queue) {
    return queue == "default" ? queue : name(name_class::queue, queue);
}

std::string renamer::label_value(const std::string& key, const std::string& value) {
    if (key == vgpualloc::kube::namespace_label) return value == "default" ? value : name(name_class::ns, value);
    if (names_queue(key)) return queue_name(value);
    if (!is_label_read(key, names_)) return names_.value_of(key, value);
    if (key.ends_with(".product")) return names_.product_of(value);
    return names_.is_plain(value) ? value : name(name_class::label_value, value);
}

void renamer::change_labels(document& object, std::string_view member) {
    if (object.find(member) == nullptr) return;
    document& labels = object[member];
    if (!labels.is_map()) return hide(labels);
    for (auto& [key, value] : labels.members) {
        if (value.is_text())
            value.text = label_value(key, value.text);
        else
            hide(value);
        key = label_key(key);
    }
}

std::string renamer::annotation_text(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\n\r");
    if (first != std::string::npos && (text[first] == '[' || text[first] == '{')) {
        auto value = vgpuformats::parse_json(text, "", vgpuformats::repeated_keys::kept);
        if (value) {
            change_json(*value);
            return vgpuformats::print_json(*value);
        }
    }
    return names_.text_of(text);
}

void renamer::hide_long(document& number) {
    constexpr std::int64_t number_max = 9'999'999; // amounts and indices; longer ones may be serial numbers
    const auto whole = number.integer();
    if (!whole || *whole > number_max || *whole < -number_max) number = document{std::int64_t{0}};
}

void renamer::change_json(document& value) {
    if (value.kind == value_kind::number) hide_long(value);
    if (value.is_text()) value.text = annotation_text(value.text);
    for (document& item : value.items) change_json(item);
    for (auto& [key, member] : value.members) {
        change_json(member);
        key = names_.text_of(key);
    }
}

std::string renamer::types_text(const std::string& text) {
    std::string result;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] != ',') continue;
        const std::string part = text.substr(begin, i - begin);
        const auto left = part.find_first_not_of(' ');
        const std::string trimmed =
            left == std::string::npos ? "" : part.substr(left, part.find_last_not_of(' ') - left + 1);
        result += (begin == 0 ? "" : ",") + (names_.occurs_in_word(trimmed) ? trimmed : names_.model_of(trimmed));
        begin = i + 1;
    }
    return result;
}

std::string renamer::keys_alone(const std::string& text) {
    auto value = vgpuformats::parse_json(text, "", vgpuformats::repeated_keys::kept);
    if (!value || !value->is_map()) return names_.text_of(text);
    for (auto& [key, member] : value->members) {
        key = names_.text_of(key);
        member = document::map();
    }
    return vgpuformats::print_json(*value);
}

void renamer::change_annotations(document& metadata) {
    if (metadata.find("annotations") == nullptr) return;
    document& annotations = metadata["annotations"];
    if (!annotations.is_map()) return hide(annotations);
    const auto is_of_no_matter = [this](const auto& member) {
        const bool is_deleted = member.second.text.find("Deleted") != std::string::npos;
        return !is_annotation_read(member.first, npus_) || (member.first == hami_handshake && !is_deleted);
    };
    std::erase_if(annotations.members, is_of_no_matter);
    for (auto& [key, value] : annotations.members) {
        if (!value.is_text()) {
            hide(value);
        } else if (names_node(key)) {
            value.text = name(name_class::node, value.text);
        } else if (key == "baseDeviceInfos") {
            value.text = keys_alone(value.text);
        } else if (key == hami_handshake) {
            value.text = "Deleted"; // without when
        } else if (names_group(key)) {
            value.text = name(name_class::group, value.text);
        } else if (names_queue(key)) {
            value.text = queue_name(value.text);
        } else if (names_types(key)) {
            value.text = types_text(value.text);
        } else {
            value.text = annotation_text(value.text);
        }
    }
}

void renamer::hide_text(document& object, std::string_view member) {
    if (object.find(member) != nullptr && object.find(member)->kind != value_kind::boolean) hide(object[member]);
}

std::string renamer::resource_name(const std::string& resource) {
    constexpr std::array<std::string_view, 4> of_kubernetes{"cpu", "memory", "pods", "ephemeral-storage"};
    constexpr std::array<std::string_view, 2> begins{"hugepages-", "attachable-volumes-"};
    const auto starts = [&resource](std::string_view begin) { return resource.starts_with(begin); };
    if (std::ranges::find(of_kubernetes, resource) != of_kubernetes.end()) return resource;
    if (starts(mig_resources)) {
        return std::string{mig_resources} + names_.profile_of(std::string_view{resource}.substr(mig_resources.size()));
    }
    const bool is_plain = std::ranges::any_of(begins, starts) && is_amount(resource.substr(resource.rfind('-') + 1));
    const auto reads = [&](const auto& spoken) { return spoken->reads_resource(resource); };
    if (is_plain || (std::ranges::any_of(*dialects_, reads) && !pseudonyms::looks_secret(resource))) return resource;
    // A resource of a vendor whose others are read is most likely a mistake, and stays one.
    for (const auto& spoken : *dialects_) {
        for (const std::string& begin : spoken->resource_prefixes()) {
            if (starts(begin)) return begin + name(name_class::word, resource.substr(begin.size()));
        }
    }
    const std::string hidden = name(name_class::word, resource);
    return resource.find('/') == std::string::npos ? hidden : "example.com/" + hidden;
}

void renamer::change_amounts(document& object, std::string_view member) {
    if (object.find(member) == nullptr) return;
    document& amounts = object[member];
    if (!amounts.is_map()) return hide(amounts);
    for (auto& [resource, amount] : amounts.members) {
        resource = resource_name(resource);
        hide_no_amount(amount);
    }
}

std::string renamer::device_list_text(const std::string& text) {
    const auto value = vgpuformats::parse_json(text, "", vgpuformats::repeated_keys::kept);
    const document* const info = value ? value->find("DeviceInfo") : nullptr;
    const document* const list = info == nullptr ? nullptr : info->find("DeviceList");
    if (list == nullptr || !list->is_map()) return names_.text_of(text);
    document kept = *list;
    change_json(kept);
    return vgpuformats::print_json(document::map({{"DeviceInfo", document::map({{"DeviceList", std::move(kept)}})}}));
}

} // namespace vgpuops::snapshots
