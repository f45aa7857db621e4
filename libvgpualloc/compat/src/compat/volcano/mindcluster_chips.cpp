// The 310P chip's ledger, and which chips a request gets.
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "mindcluster_node.hpp"

namespace vgpualloc::compat::volcano::mindcluster {

namespace {

/// How many vGroups of the chip are in use, by the ids of the vNPUs on it.
std::size_t groups_on(const npu_chip& chip) {
    std::set<std::int64_t> groups;
    for (const std::string& id : chip.ids) {
        const auto pieces = split(id, '_');
        if (pieces.size() < 2) continue;
        if (const auto group = number(pieces.back())) groups.insert(*group);
    }
    return groups.size();
}

/// A chip has four vGroups, and a vNPU of several cores cannot use what is left of three or four.
bool group_left(const npu_chip& chip, std::int64_t cores) {
    if (!chip.segment) return true;
    const std::size_t groups = groups_on(chip);
    return !(groups == 3 && cores >= 4) && !(groups == 4 && cores >= 2);
}

bool dvpp_left(std::string_view free, std::string_view dvpp) {
    if (dvpp == dvpp_yes) return free == dvpp_yes;
    return dvpp != dvpp_null || free != dvpp_no;
}

using chip_list = std::vector<const npu_chip*>;

/// Upstream's sort.Sort, least free resource first. Its comparison is no order (of two chips that do not cover each
/// other either comes first), so the outcome depends on the algorithm: Go sorts up to 12 by insertion.
void sort_as_upstream(chip_list& chips) {
    const auto before = [](const npu_chip& a, const npu_chip& b) { return !covers(a.free, b.free); };
    for (std::size_t i = 1; i < chips.size(); ++i) {
        for (std::size_t j = i; j > 0 && before(*chips[j], *chips[j - 1]); --j) std::swap(chips[j], chips[j - 1]);
    }
}

chip_list ordered_chips(const npu_node& where, bool segment, const quirk_set& quirks) {
    // Q13: upstream starts from the order of a Go map; the recordings, and so we, from ascending ids.
    chip_list chips;
    for (const auto& [id, chip] : where.chips) chips.push_back(&chip);
    if (!quirks.has(quirk::q13)) {
        std::ranges::sort(chips, {},
                          [](const npu_chip* chip) { return std::tuple{chip->free.core, chip->free.cpu, chip->id}; });
        return chips;
    }
    sort_as_upstream(chips);
    if (segment) sort_as_upstream(chips); // a second sort can change the order again
    return chips;
}

chip_choice choose_segment(const chip_list& chips, const npu_resource& request) {
    for (const npu_chip* chip : chips) {
        if (chip->meets(request) && !chip->unstable) return {.chips = {chip->id}, .error = {}, .reason = {}};
    }
    return {.chips = {},
            .error =
                "selectChipFromNodeSegment available chip not found for req <" + std::to_string(request.core) + ">",
            .reason = "no_chip"};
}

chip_choice choose_whole(const chip_list& chips, const npu_resource& request, std::int64_t cores_per_chip) {
    const std::int64_t count = request.core / cores_per_chip;
    if (count == 0) return {.chips = {}, .error = "task require card number 0", .reason = "zero_cards"};
    const npu_resource per_chip{
        .core = request.core / count, .cpu = request.cpu / count, .dvpp = std::string{dvpp_null}};
    chip_choice chosen;
    for (const npu_chip* chip : chips) {
        if (!chip->meets(per_chip) || chip->segment) continue;
        chosen.chips.push_back(chip->id);
        if (std::cmp_equal(chosen.chips.size(), count)) return chosen;
    }
    return {.chips = {},
            .error = "selectChipFromNodeWhole free whole chip <" + std::to_string(chosen.chips.size()) +
                     "> not enough for req <" + std::to_string(count) + ">",
            .reason = "no_whole_chip"};
}

} // namespace

bool covers(const npu_resource& free, const npu_resource& request) {
    return free.core >= request.core && free.cpu >= request.cpu;
}

npu_chip::npu_chip(std::int64_t its_id, std::int64_t cores, std::int64_t cpus)
    : id{its_id}, total{.core = cores, .cpu = cpus, .dvpp = std::string{dvpp_no}},
      used{.core = 0, .cpu = 0, .dvpp = std::string{dvpp_no}},
      free{.core = cores, .cpu = cpus, .dvpp = std::string{dvpp_yes}} {}

bool npu_chip::meets(const npu_resource& request) const {
    return covers(free, request) && group_left(*this, request.core) && dvpp_left(free.dvpp, request.dvpp);
}

void npu_chip::take(const npu_resource& amount) {
    used.core += amount.core;
    used.cpu += amount.cpu;
    free.core -= amount.core;
    free.cpu -= amount.cpu;
}

void npu_chip::give_back(const npu_resource& amount) {
    used.core -= amount.core;
    used.cpu -= amount.cpu;
    free.core += amount.core;
    free.cpu += amount.cpu;
    // A pod that did not care leaves the unit as it made it until the next session.
    if (amount.dvpp == dvpp_yes) {
        used.dvpp = dvpp_no;
        free.dvpp = dvpp_yes;
    }
}

void npu_chip::note_dvpp(std::string_view dvpp) {
    if (dvpp == dvpp_yes) {
        used.dvpp = dvpp_yes;
        free.dvpp = dvpp_no;
    } else if (dvpp == dvpp_no && used.dvpp == dvpp_no) {
        free.dvpp = dvpp_yes;
    } else if (dvpp == dvpp_null && used.dvpp != dvpp_yes) {
        used.dvpp = dvpp_null;
        free.dvpp = dvpp_null;
    }
}

bool npu_node::whole_chips(std::int64_t cores) const { return cores_per_chip != 0 && cores % cores_per_chip == 0; }

npu_resource npu_node::whole_chip() const {
    return {
        .core = cores_per_chip, .cpu = total_chips == 0 ? 0 : total_cpu / total_chips, .dvpp = std::string{dvpp_null}};
}

bool sufficient(const npu_node& where, const npu_resource& request) {
    npu_resource free;
    for (const auto& [id, chip] : where.chips) {
        free.core += chip.free.core; // unstable chips count too
        free.cpu += chip.free.cpu;
    }
    if (!covers(free, request)) return false;
    const auto counts = [&](auto test) {
        return std::ranges::count_if(where.chips, [&test](const auto& entry) { return test(entry.second); });
    };
    if (where.whole_chips(request.core)) {
        const auto whole = counts([](const npu_chip& chip) { return !chip.segment && chip.free.core != 0; });
        return request.core / where.cores_per_chip <= whole;
    }
    return counts([&request](const npu_chip& chip) { return chip.meets(request) && !chip.unstable; }) > 0;
}

chip_choice choose_chips(const npu_node& where, const npu_resource& request, const quirk_set& quirks) {
    if (where.chips.empty()) {
        return {.chips = {}, .error = "selectChipFromNode sorted chips len 0", .reason = "no_chips"};
    }
    const bool whole = where.whole_chips(request.core);
    const chip_list chips = ordered_chips(where, !whole, quirks);
    return whole ? choose_whole(chips, request, where.cores_per_chip) : choose_segment(chips, request);
}

void charge_chips(npu_node& where, const std::vector<std::int64_t>& chips, bool whole, const npu_resource& amount) {
    for (const std::int64_t id : chips) {
        const auto chip = where.chips.find(id);
        if (chip == where.chips.end()) continue;
        chip->second.take(amount);
        if (!whole && !where.whole_chips(amount.core)) chip->second.segment = true;
        chip->second.note_dvpp(amount.dvpp);
    }
}

} // namespace vgpualloc::compat::volcano::mindcluster
