// How many more pods of each class every node could take, and the cluster in all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpualloc/policy/bid_demand.hpp"
#include "vgpualloc/policy/state_key.hpp"

namespace vgpualloc {

/// Division by a whole number as a multiplication: exact for dividends times divisors below 2^40; beyond, and for
/// dividends above 2^22, the same on every machine.
class quick_divisor {
public:
    quick_divisor() = default;
    explicit quick_divisor(std::int64_t divisor)
        : reciprocal_{((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(divisor) - 1) /
                      static_cast<std::uint64_t>(divisor)} {}

    [[nodiscard]] std::int64_t of(std::int64_t dividend) const noexcept {
        constexpr std::int64_t dividend_max = (std::int64_t{1} << 22) - 1;
        const auto clamped = static_cast<std::uint64_t>(std::clamp<std::int64_t>(dividend, 0, dividend_max));
        return static_cast<std::int64_t>((clamped * reciprocal_) >> shift);
    }

private:
    static constexpr int shift = 40;
    std::uint64_t reciprocal_ = std::uint64_t{1} << shift;
};

/// A class as slots are counted by.
struct slot_rule {
    std::int64_t devices = 1;
    std::int64_t cpu = 0; ///< milli-CPU of a pod; 0 = none
    quick_divisor by_devices{};
    quick_divisor by_cpu{};

    slot_rule() = default;
    explicit slot_rule(const bid_class& of)
        : devices{of.devices}, cpu{of.cpu}, by_devices{of.devices}, by_cpu{std::max<std::int64_t>(of.cpu, 1)} {}

    /// Slots of a node whose devices offer `offers` (slot_stock::offers) and that has so much CPU left.
    [[nodiscard]] std::int64_t slots(std::int32_t offers, std::int64_t cpu_left) const noexcept {
        const std::int64_t by_parts = devices == 1 ? offers : by_devices.of(offers);
        return cpu == 0 || by_parts == 0 ? by_parts : std::min(by_parts, by_cpu.of(cpu_left));
    }
};

/// Counts slots: a slot of a class is room for one more pod of it on a node, by devices and CPU. A device offers a
/// class of one device as many parts as it could take in a row, and one of several devices one part or none. Nodes are
/// read from the ledger when they have changed and stock() is asked for.
class slot_stock {
public:
    /// Other classes: all that was counted is void. Null: nothing is counted.
    void set_classes(std::shared_ptr<const bid_classes> classes);
    /// Another ledger, or anything of it may have changed.
    void forget_nodes() noexcept { is_read_ = false; }
    /// A node has changed.
    void touch(node_index where);
    /// Kinds of devices are another cluster's, and ids of configurations are given anew.
    void forget_ids();

    /// By class: slots of the whole cluster.
    [[nodiscard]] std::span<const std::int64_t> stock(const ledger& book);
    /// By class: what the devices of a configuration offer. Valid until the next call.
    [[nodiscard]] const std::int32_t* offers(const device_config& config);
    [[nodiscard]] const std::vector<slot_rule>& rules() const noexcept { return rules_; }

private:
    [[nodiscard]] std::size_t width() const noexcept { return rules_.size(); }
    [[nodiscard]] std::uint32_t row_of(const device_spec& spec, const policies::state_key& key);
    void add_row(std::uint32_t row, std::int32_t* sums) const noexcept;
    void read_node(const ledger& book, node_index where);

    std::shared_ptr<const bid_classes> classes_;
    std::vector<slot_rule> rules_; ///< by class
    std::unordered_map<policies::state_key, std::uint32_t, policies::state_key_hash> row_numbers_;
    std::vector<std::int32_t> rows_; ///< [row][class]: what a device in a state offers

    bool is_read_ = false;            ///< whether slots_ are those of the ledger, but for touched nodes
    std::vector<node_index> touched_; ///< nodes to read again, each once
    std::vector<char> is_touched_;    ///< by node
    std::vector<std::int32_t> slots_; ///< [node][class]
    std::vector<std::int64_t> stock_; ///< by class
    std::vector<std::int32_t> sums_;  ///< of the node that is being read, by class

    std::vector<std::uint32_t> config_rows_;  ///< by configuration id: position in config_offers_ + 1; 0 = none yet
    std::vector<std::int32_t> config_offers_; ///< [position][class]
    std::vector<std::int32_t> passing_;       ///< of a configuration without an id
};

} // namespace vgpualloc
