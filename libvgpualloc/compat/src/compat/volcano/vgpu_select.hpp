// Which cards a pod gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vgpu_cards.hpp"
#include "vgpu_mig.hpp"
#include "vgpu_request.hpp"

namespace vgpualloc::compat::volcano::vgpu {

/// What selection changed on a card. Also for cards that it then does not name (Q7b).
struct card_booking {
    std::size_t card = 0;
    std::int64_t need = 0;
    std::int64_t charged = 0; ///< differs from the need in MIG mode
    std::int64_t cores = 0;
    std::optional<mig_pick> instance;
};

struct selected_card {
    std::size_t card = 0;
    std::int64_t need = 0;
    std::int64_t cores = 0;
    std::optional<mig_pick> instance;
};

struct selection {
    std::string error; ///< upstream's text, empty = it fits
    std::string reason;
    std::vector<std::vector<selected_card>> containers; ///< by record
    double score = 0.0;
    std::vector<card_booking> bookings;

    [[nodiscard]] bool fits() const noexcept { return reason.empty(); }
};

struct selection_request {
    const pod* pending = nullptr;
    std::string policy;
    std::set<std::int64_t> blocked; ///< indexes of cards that exclusive rules reserve
};

/// Chooses cards for a pod that asks for some, and books them in `uses`. What does not fit is rolled back (Q7).
[[nodiscard]] selection select_cards(const node_ledger& node, std::vector<card_use>& uses,
                                     const selection_request& request, const settings& setup);

/// Undoes a booking of this session, exactly.
void undo_booking(const node_spec& node, std::vector<card_use>& uses, const card_booking& booking,
                  const settings& setup);

} // namespace vgpualloc::compat::volcano::vgpu
