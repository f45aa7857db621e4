// Changes values of Kubernetes objects in place: names into pseudonyms.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "hardware_words.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/snapshot/pseudonyms.hpp"

namespace vgpuops::snapshots {

/// A member that is not there stays away; one of a shape that nothing reads is hidden.
class renamer {
protected:
    explicit renamer(const kube::snapshot& state)
        : dialects_{&state.dialects}, npus_{keep_hardware_words(state, names_)} {}

    std::string name(name_class kind, const std::string& text);
    void rename(document& object, std::string_view member, name_class kind);
    /// A text is changed; what is none is hidden.
    void change_text(document& object, std::string_view member,
                     const std::function<std::string(const std::string&)>& change);
    static void keep_members(document& object, std::initializer_list<std::string_view> members);
    /// Anything but an amount, or but a number.
    void hide_no_amount(document& amount);
    void hide_no_number(document& object, std::string_view member);
    /// Numbers that are too long for an amount become 0.
    static void hide_long(document& number);
    /// What is of no shape that is read: texts and members have pseudonyms, so that what is wrong with it stays wrong.
    void hide(document& value);
    void keep_words(document& object, std::string_view member, std::initializer_list<std::string_view> words);
    void keep_word(document& value, std::initializer_list<std::string_view> words);
    /// Items of a list whose number alone counts.
    void empty_items(document& object, std::string_view member);
    std::string label_key(const std::string& key);
    /// What names no queue is in the one that is called default.
    std::string queue_name(const std::string& queue);
    std::string label_value(const std::string& key, const std::string& value);
    void change_labels(document& object, std::string_view member);
    /// JSON by its values, other texts by their tokens.
    std::string annotation_text(const std::string& text);
    void change_json(document& value);
    /// A map of which the keys alone are read.
    std::string keys_alone(const std::string& text);
    /// Resources of Kubernetes and of vendors whose dialects are read stay.
    std::string resource_name(const std::string& resource);
    std::string types_text(const std::string& text);
    void change_annotations(document& metadata);
    void hide_text(document& object, std::string_view member);
    void change_amounts(document& object, std::string_view member);
    /// Of the device plugin's ConfigMap the lists of chips: the rest is of no use here.
    std::string device_list_text(const std::string& text);

    pseudonyms names_;
    const vgpualloc::dialect_set* dialects_;

private:
    npu_words npus_;
};

} // namespace vgpuops::snapshots
