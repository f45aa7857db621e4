// What a trial needs to take its steps back.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "vgpualloc/model/ledger.hpp"

namespace vgpualloc {

struct ledger::undo_log {
    /// An owner before its booking changed.
    struct owner_step {
        owner_id owner;
        live_entry before;
        std::uint64_t event = 0; ///< number of the change's event
    };
    /// What is used of a node.
    struct use_step {
        node_index where;
        host_use host;
        slot_list slots;
        std::vector<device_state> states;
        bool host_over = false;
        std::vector<std::uint32_t> devices_over;
        std::uint64_t saved_in = 0;
    };
    /// What a node was before it was added again, changed or removed.
    struct structure_step {
        use_step use;
        node described;
        std::unique_ptr<node> waiting; ///< node_record::described
        bool present = true;
        bool named = false; ///< found by its name, or would be once names are listed
        std::uint64_t rank = 0;
        std::size_t free_nodes = 0; ///< how many there were
        std::uint64_t event = 0;
    };
    /// A node that was put at the end.
    struct added_step {
        node_index where;
        std::uint64_t event = 0;
    };
    using step = std::variant<owner_step, use_step, structure_step, added_step>;

    [[nodiscard]] static use_step use_of(const ledger& book, node_index where);
    static void undo(ledger& book, const owner_step& step);
    static void undo(ledger& book, const use_step& step);
    static void undo(ledger& book, const structure_step& step);
    static void undo(ledger& book, const added_step& step);
    static void note_undone(ledger& book, std::uint64_t event, node_change inverse);

    std::vector<step> steps;
    std::vector<std::uint64_t> outer; ///< the trials around the innermost one, from the outermost; 0 = none
};

} // namespace vgpualloc
