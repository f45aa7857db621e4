// The allocator side by side with the reference: random worlds, policies and limits, then operations by the input;
// every answer and every placement is the same, exactly.
#include "worlds.hpp"

#include "../property/side_by_side.hpp"

namespace {

namespace property = vgpualloc::property;

constexpr int operations_max = 64;
constexpr property::world_kind named_world{.names = true};
constexpr property::world_kind openb_world{.openb = true};

const std::vector<property::policy_choice>& choices() {
    static const auto result = property::all_choices();
    return result;
}

/// Tables that forget all the time decide alike.
vgpualloc::allocator_options options_of(std::uint8_t which) {
    vgpualloc::allocator_options result;
    if (which % 4 == 1) result.index_bytes_max = 1;
    if (which % 4 == 2) result.requests_max = 1;
    if (which % 4 == 3) result.interned.configs_max = 1;
    return result;
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    byte_reader bytes{input};
    const property::policy_choice& choice = choices()[bytes.below(choices().size())];
    const std::uint32_t number = bytes.word(2) * 2 + (choice.openb ? 1 : 0);
    const property::world& world = world_of(number, choice.openb ? openb_world : named_world);
    const auto options = options_of(bytes.byte());
    const std::size_t nodes_at_start = 1 + bytes.below(6);
    property::side_by_side both{choice, world, options, nodes_at_start};
    for (int i = 0; i < operations_max && !bytes.empty(); ++i) both.apply(next_operation(bytes));
    both.check();
    for (const vgpualloc::pod_request& request : world.requests) both.compare_answers(request);
}
