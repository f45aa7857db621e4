// The names of a list of millions of rows, each of which may stand in it once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/hash.hpp"

namespace vgputraces {

/// Open addressing, as a node per name costs half the time of reading the list. The texts have to stay where they are.
class name_set {
public:
    /// Makes room for so many names in one go.
    void reserve(std::size_t names) {
        if (2 * (names + 1) > slots_.size()) resize(std::bit_ceil(2 * (names + 1)));
    }

    [[nodiscard]] bool contains(std::string_view name) const {
        return !slots_.empty() && slots_[slot_of(name, vgpualloc::hash_text(name))].name.data() != nullptr;
    }

    /// False if the name is there already.
    bool add(std::string_view name) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        const std::uint64_t hash = vgpualloc::hash_text(name);
        entry& slot = slots_[slot_of(name, hash)];
        if (slot.name.data() != nullptr) return false;
        slot = {.name = name.empty() ? std::string_view{""} : name, .hash = hash};
        ++count_;
        return true;
    }

private:
    struct entry {
        std::string_view name; ///< without data: free
        std::uint64_t hash = 0;
    };

    /// Where the name is or goes.
    [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint64_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = hash & mask;
        while (slots_[slot].name.data() != nullptr && (slots_[slot].hash != hash || slots_[slot].name != name)) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    void grow() {
        constexpr std::size_t first_size = 1024;
        resize(slots_.empty() ? first_size : 2 * slots_.size());
    }

    void resize(std::size_t size) {
        const std::vector<entry> before = std::exchange(slots_, std::vector<entry>(size));
        for (const entry& old : before) {
            if (old.name.data() != nullptr) slots_[slot_of(old.name, old.hash)] = old;
        }
    }

    std::vector<entry> slots_; ///< a power of two, at most half full
    std::size_t count_ = 0;
};

} // namespace vgputraces
