// The cards that an Ascend node registers, read as Go's encoding/json reads them into upstream's structure.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ascend_hami_parts.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::compat::volcano::ascend {

namespace {

using vgpuformats::document;

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

/// A field of an object by its name, whatever the case of its letters; null is as good as missing.
const document* field(const document& object, std::string_view name) {
    const document* member = object.find(name);
    if (member == nullptr) {
        for (const auto& [key, value] : object.members) {
            if (std::ranges::equal(key, name, {}, lower)) member = &value;
        }
    }
    return member == nullptr || member->is_null() ? nullptr : member;
}

/// Each reader is false where Go would refuse the whole list, and leaves the value alone where the field is missing.
bool read(const document& object, std::string_view name, std::int64_t lowest, std::int64_t highest,
          std::int64_t& into) {
    const document* const member = field(object, name);
    if (member == nullptr) return true;
    const auto number = member->integer();
    if (!number) return false;
    into = *number;
    return into >= lowest && into <= highest;
}
bool read(const document& object, std::string_view name, std::string& into) {
    const document* const member = field(object, name);
    if (member == nullptr) return true;
    if (!member->is_text()) return false;
    into = member->text;
    return true;
}
bool read(const document& object, std::string_view name, bool& into) {
    const document* const member = field(object, name);
    if (member == nullptr) return true;
    const auto truth = member->truth();
    if (!truth) return false;
    into = *truth;
    return true;
}
/// custominfo is a map of anything, so its own keys are matched exactly and a null counts as there.
bool read_network(const document& object, std::optional<network>& into) {
    const document* const info = field(object, "custominfo");
    if (info == nullptr) return true;
    if (!info->is_map()) return false;
    const document* const network_id = info->find("NetworkID");
    if (network_id == nullptr) return true;
    into.emplace();
    if (const auto number = network_id->real()) {
        constexpr double exact_limit = 9007199254740992.0; // Go holds it as a float64
        const double value = std::trunc(*number);
        if (std::abs(value) <= exact_limit) into->id = static_cast<std::int64_t>(value);
    }
    return true;
}

bool read(const document& object, card& into) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t high = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    return object.is_map() && read(object, "id", into.uuid) && read(object, "index", 0, largest, into.index) &&
           read(object, "count", low, high, into.count) && read(object, "devmem", low, high, into.memory) &&
           read(object, "devcore", low, high, into.cores) && read(object, "type", into.type) &&
           read(object, "health", into.health) && read_network(object, into.place);
}

} // namespace

std::vector<card> parse_register(const std::string& text) {
    const auto list = vgpuformats::parse_json(text, "register", vgpuformats::repeated_keys::kept);
    if (!list || !list->is_list()) return {};
    std::vector<card> cards;
    for (const document& entry : list->items) {
        card registered;
        if (!read(entry, registered)) return {};
        // Upstream keeps them by id: of two with one id the later stays.
        const auto same = std::ranges::find(cards, registered.uuid, &card::uuid);
        if (same == cards.end()) {
            cards.push_back(std::move(registered));
        } else {
            *same = std::move(registered);
        }
    }
    std::ranges::stable_sort(cards, {}, &card::index);
    return cards;
}

} // namespace vgpualloc::compat::volcano::ascend
