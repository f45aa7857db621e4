// The cards that an Ascend node registers, read as Go's encoding/json reads them into upstream's structure.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ascend_hami_parts.hpp"

namespace vgpualloc::compat::volcano::ascend {

namespace {

using nlohmann::json;

char lower(char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each; }

/// A field of an object by its name, whatever the case of its letters; null is as good as missing.
const json* field(const json& object, std::string_view name) {
    const json* found = nullptr;
    if (const auto exact = object.find(name); exact != object.end()) {
        found = &*exact;
    } else {
        for (const auto& [key, value] : object.items()) {
            if (std::ranges::equal(key, name, {}, lower)) found = &value;
        }
    }
    return found == nullptr || found->is_null() ? nullptr : found;
}

/// Each reader is false where Go would refuse the whole list, and leaves the value alone where the field is missing.
bool read(const json& object, std::string_view name, std::int64_t lowest, std::int64_t highest, std::int64_t& into) {
    const json* const found = field(object, name);
    if (found == nullptr) return true;
    if (!found->is_number_integer()) return false;
    if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) return false;
    into = found->get<std::int64_t>();
    return into >= lowest && into <= highest;
}
bool read(const json& object, std::string_view name, std::string& into) {
    const json* const found = field(object, name);
    if (found == nullptr) return true;
    if (!found->is_string()) return false;
    into = found->get<std::string>();
    return true;
}
bool read(const json& object, std::string_view name, bool& into) {
    const json* const found = field(object, name);
    if (found == nullptr) return true;
    if (!found->is_boolean()) return false;
    into = found->get<bool>();
    return true;
}
/// custominfo is a map of anything, so its own keys are matched exactly and a null counts as there.
bool read_network(const json& object, std::optional<network>& into) {
    const json* const info = field(object, "custominfo");
    if (info == nullptr) return true;
    if (!info->is_object()) return false;
    const auto found = info->find("NetworkID");
    if (found == info->end()) return true;
    into.emplace();
    if (found->is_number()) {
        constexpr double exact_limit = 9007199254740992.0; // Go holds it as a float64
        const double value = std::trunc(found->get<double>());
        if (std::abs(value) <= exact_limit) into->id = static_cast<std::int64_t>(value);
    }
    return true;
}

bool read(const json& object, card& into) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t high = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    return object.is_object() && read(object, "id", into.uuid) && read(object, "index", 0, largest, into.index) &&
           read(object, "count", low, high, into.count) && read(object, "devmem", low, high, into.memory) &&
           read(object, "devcore", low, high, into.cores) && read(object, "type", into.type) &&
           read(object, "health", into.health) && read_network(object, into.place);
}

} // namespace

std::vector<card> parse_register(const std::string& text) {
    const json list = json::parse(text, nullptr, false);
    if (!list.is_array()) return {};
    std::vector<card> cards;
    for (const json& each : list) {
        card made;
        if (!read(each, made)) return {};
        // Upstream keeps them by id: of two with one id the later stays.
        const auto same = std::ranges::find(cards, made.uuid, &card::uuid);
        if (same == cards.end()) {
            cards.push_back(std::move(made));
        } else {
            *same = std::move(made);
        }
    }
    std::ranges::stable_sort(cards, {}, &card::index);
    return cards;
}

} // namespace vgpualloc::compat::volcano::ascend
