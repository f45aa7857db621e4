// Values that were made of inputs, for a program that is asked more than once about the same ones.
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vgpuformats {

/// The values last used, each of one version of its inputs. Not for several threads at once.
class kept_values {
public:
    /// How many values are kept. A cluster and the manifests beside it are a few; an old cluster is not to stay in
    /// memory.
    static constexpr std::size_t values_max = 4;

    /// The value that is kept under this key; null if there is none, or if it was made of another version.
    template <class T>
    [[nodiscard]] std::shared_ptr<const T> find(const std::string& key, const std::string& version) {
        const auto known = std::ranges::find(entries_, key, &entry::key);
        if (known == entries_.end() || known->version != version) return nullptr;
        std::rotate(known, std::next(known), entries_.end());
        const auto* const value = std::any_cast<std::shared_ptr<const T>>(&entries_.back().value);
        return value == nullptr ? nullptr : *value;
    }

    /// Keeps a value in the place of the one that had this key.
    template <class T>
    void keep(std::string key, std::string version, std::shared_ptr<const T> value) {
        std::erase_if(entries_, [&key](const entry& older) { return older.key == key; });
        if (entries_.size() == values_max) entries_.erase(entries_.begin());
        entries_.push_back({.key = std::move(key), .version = std::move(version), .value = std::move(value)});
    }

private:
    struct entry {
        std::string key;
        std::string version;
        std::any value; ///< a std::shared_ptr<const T>
    };

    std::vector<entry> entries_; ///< what was used last at the end
};

} // namespace vgpuformats
