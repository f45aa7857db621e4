// What one device's worth of a container makes of a device state: the transitions (part, state) -> states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "alloc/arena.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/partition.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

/// The states are not interned: most are never taken, and finding out an id costs more than everything else here. Only
/// the answers of the first states are kept: where a cluster has few states each of them is asked for again and again,
/// and where it has many, fetching what is kept of one from memory takes longer than asking the mode.
class part_table {
public:
    /// A device as one way of serving the part leaves it; on one cache line, as they are read in no order.
    struct alignas(64) outcome_view : device_view {};

    /// What a device becomes: one view per candidate partition, in the mode's order; none if it is refused. The views
    /// have no id and are valid until forget() or, where they are not kept, forget_passing().
    struct answer {
        const outcome_view* after = nullptr;
        std::uint32_t count = 0;
        rejection_code code = rejection_code::none; ///< for refused_because()
        bool known = false;
    };

    /// A number for what a container asks of a device, the same for equal containers until each was removed. Containers
    /// that differ in their count alone are different: some modes give parts only to those that want a single device.
    [[nodiscard]] std::uint32_t add(const device_request& container);
    void remove(std::uint32_t part);

    [[nodiscard]] answer of(std::uint32_t part, const device_view& device) {
        const auto& known = parts_[part].answers;
        if (device.id < known.size() && known[device.id].known) return known[device.id];
        return device.id >= ids_kept ? compute(part, device, passing_) : remember(part, device);
    }

    /// The answer if it is kept; otherwise one that is not `known`. Asks nobody and does not wait for memory.
    [[nodiscard]] answer kept(std::uint32_t part, const device_view& device) const noexcept {
        const auto& known = parts_[part].answers;
        return device.id < known.size() ? known[device.id] : answer{};
    }
    /// Says that kept() will be asked about these devices soon.
    void expect(std::uint32_t part, std::span<const device_view* const> devices) const noexcept {
        const auto& known = parts_[part].answers;
        for (const device_view* device : devices) {
            if (device->id < known.size()) prefetch(&known[device->id]);
        }
    }

    /// The partition that leaves the device in this state: the first of those that do.
    VGA_HOT [[nodiscard]] partition partition_to(std::uint32_t part, const device_view& device,
                                                 const device_state& after);
    [[nodiscard]] const device_request& wanted(std::uint32_t part) const noexcept { return *parts_[part].wanted; }

    /// Why a device is refused, given the answer that it is. Asked for apart, as it is seldom looked at.
    [[nodiscard]] rejection_code refused_because(std::uint32_t part, const device_view& device, const answer& refusal);

    /// Why a configuration refuses a request of this one container; none if it does not or if nobody noted it.
    [[nodiscard]] rejection_code known_refusal(std::uint32_t part, std::uint32_t config) const noexcept {
        const auto& known = parts_[part].refusals;
        return config < known.size() ? static_cast<rejection_code>(known[config]) : rejection_code::none;
    }
    /// Keeps that for the first configurations: a byte for each.
    void note_refusal(std::uint32_t part, const device_config& config, rejection_code code);

    void forget_passing() noexcept { passing_.rewind(); }
    /// Drops the answers, because devices get new ids. Parts keep their numbers.
    void forget();
    /// Whether answers of parts that were removed take more room than those that are there may.
    [[nodiscard]] bool is_crowded() const noexcept { return views_lost_ > views_lost_max; }

private:
    using view_arena = arena<outcome_view, 1024>;
    static constexpr std::uint32_t ids_kept = 512;
    static constexpr std::uint32_t refusals_kept = 1U << 14;
    static constexpr std::size_t views_lost_max = std::size_t{1} << 20;
    struct part_record {
        const device_request* wanted = nullptr;
        std::uint32_t users = 0;
        std::vector<answer> answers;           ///< by device id
        std::vector<std::uint8_t> refusals{};  ///< by configuration id
        std::vector<std::uint8_t> why_never{}; ///< by kind: the code + 1; 0 = not asked yet
    };

    [[nodiscard]] answer remember(std::uint32_t part, const device_view& device);
    [[nodiscard]] answer compute(std::uint32_t part, const device_view& device, view_arena& keep);
    [[nodiscard]] static rejection_code why_never_in(part_record& part, const device_view& device);

    std::map<device_request, std::uint32_t> numbers_;
    std::vector<part_record> parts_;
    std::vector<std::uint32_t> free_; ///< numbers of parts that were removed
    std::size_t views_lost_ = 0;      ///< in kept_, of parts that were removed
    view_arena kept_;
    view_arena passing_;
    std::vector<partition> partitions_;
};

} // namespace vgpualloc
