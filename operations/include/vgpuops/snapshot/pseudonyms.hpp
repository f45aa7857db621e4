// Names in the place of names: the same for the same, different for different, in the same order, and nothing of the
// name itself.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace vgpuops::snapshots {

/// What a name is of; names of one class have pseudonyms of their own.
enum class name_class : std::uint8_t {
    node,
    pod,
    ns,
    container,
    label_key, ///< also of taints
    label_value,
    device,
    group, ///< of pods
    claim,
    uid,
    scheduler,
    priority,
    rule,
    owner, ///< of pods
    queue,
    time,
    word, ///< any other text
};

/// Numbered in the order of the names, so that whoever holds the pseudonyms alone can find out how many there are and
/// in which order, and no more: a name cannot be tried against a hash. Told all names first, asked afterwards.
class pseudonyms {
public:
    /// Returns the name, as long as assign() was not called; then the pseudonym.
    [[nodiscard]] std::string of(name_class kind, const std::string& name);
    /// Gives every name that was asked for its pseudonym. One that Kubernetes does not take gets one of that kind.
    void assign();

    /// The values of a label that is compared as a number: they stay whole numbers, in the same order, and other texts
    /// stay none.
    void compare_as_numbers(const std::string& label) { numeric_labels_.insert(label); }
    [[nodiscard]] std::string value_of(const std::string& label, const std::string& value);

    /// Whether a text that calls itself a model, a kind or a resource holds what is none: an address, or a number that
    /// is too long for an amount.
    [[nodiscard]] static bool looks_secret(std::string_view text) noexcept;
    /// Words that are no names: models, profiles, modes. Their parts between '-' and ' ' are none either. A word that
    /// looks secret, has a host's name in it, or is a path, stays a name.
    void keep_word(std::string_view word);
    /// Whether a text is made of words that are no names and of numbers.
    [[nodiscard]] bool is_plain(std::string_view text) const;
    /// Whether a text occurs in a word that is no name, as models are looked for by parts of their names.
    [[nodiscard]] bool occurs_in_word(std::string_view text) const;
    /// A text of somebody else's format, with its names replaced: letters, digits and the characters between them are
    /// tokens, everything else stays. Devices are known by keep_device().
    [[nodiscard]] std::string text_of(std::string_view text);
    /// The model of a device: the words that it begins with stay, because models are recognised by them, and the rest,
    /// if it is no word, has a pseudonym.
    [[nodiscard]] std::string model_of(std::string_view text);
    /// A MIG profile, as resources and labels name it: what is behind compute and memory has a pseudonym unless NVIDIA
    /// or the catalog has it.
    [[nodiscard]] std::string profile_of(std::string_view text);
    void know_profile(const std::string& name) { profiles_.insert(name); }
    /// What feature discovery labels devices with: "<model>", "<model>-MIG-<profile>", each with "-SHARED" or without.
    [[nodiscard]] std::string product_of(std::string_view text);
    /// An id of a device, which is a name even where it looks like words and numbers.
    void know_device(const std::string& uuid) { devices_.insert(uuid); }

private:
    [[nodiscard]] std::string token_of(const std::string& token);

    bool assigned_ = false;
    std::map<name_class, std::map<std::string, std::string>> names_;
    std::set<std::string> numeric_labels_;
    std::map<std::string, std::map<std::string, std::string>> numbers_; ///< by label and value
    std::set<std::string, std::less<>> words_;
    std::set<std::string, std::less<>> devices_;
    std::set<std::string, std::less<>> profiles_; ///< of the catalog
};

} // namespace vgpuops::snapshots
