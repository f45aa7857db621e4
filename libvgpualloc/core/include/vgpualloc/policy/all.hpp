// The list of native policies, sorted by name. A new policy is one header and one line here.
#pragma once

#include <array>

#include "vgpualloc/policy/best_fit.hpp"
#include "vgpualloc/policy/bid_price.hpp"
#include "vgpualloc/policy/binpack.hpp"
#include "vgpualloc/policy/dual_price.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/fgd.hpp"
#include "vgpualloc/policy/fgd_literal.hpp"
#include "vgpualloc/policy/fgd_stranded.hpp"
#include "vgpualloc/policy/first_fit.hpp"
#include "vgpualloc/policy/keep_idle.hpp"
#include "vgpualloc/policy/mcc.hpp"
#include "vgpualloc/policy/mecc.hpp"
#include "vgpualloc/policy/mfi.hpp"
#include "vgpualloc/policy/random.hpp"
#include "vgpualloc/policy/spread.hpp"
#include "vgpualloc/policy/ssp.hpp"
#include "vgpualloc/policy/worst_fit.hpp"

namespace vgpualloc {

inline constexpr std::array native_policies{
    make_policy_entry<policies::best_fit>(
        "node with the least idle device capacity left over, then device with the least left over", a_baseline),
    make_policy_entry<policies::bid_price>("node and device that displace the least: the value of leftover capacity, "
                                           "and slots that run out (learned demand)",
                                           "start with it"),
    make_policy_entry<policies::binpack>("fullest node first, then fullest device", a_baseline),
    make_policy_entry<policies::dual_price>(
        "node and device that lose the least value of leftover capacity, as far as the node's CPU can use it",
        "take it if nobody leaves and the list of pods is known"),
    make_policy_entry<policies::fgd>("node and device where fragmentation grows least (exact score)", a_baseline),
    make_policy_entry<policies::fgd_literal>(
        "node and device where free units grow least that a typical request can no longer get at", a_baseline),
    make_policy_entry<policies::fgd_stranded>(
        "node and device where units grow least that would stay free if as many typical requests as fit came",
        a_baseline),
    make_policy_entry<policies::first_fit>("the first node that fits, then its first device", a_baseline),
    make_policy_entry<policies::keep_idle>(
        "devices in use before idle ones: a price for opening one, in weighted sums"),
    make_policy_entry<policies::mcc>("node and device that lose the fewest free starts of MIG profiles", a_baseline),
    make_policy_entry<policies::mecc>(
        "node and device that lose the fewest places for typical requests, by how frequent they are", a_baseline),
    make_policy_entry<policies::mfi>("node and device where units of blocked starts of MIG profiles grow least",
                                     a_baseline),
    make_policy_entry<policies::random>("a node that fits, then a device that fits, drawn uniformly", a_baseline),
    make_policy_entry<policies::spread>("emptiest node first, then emptiest device: keeps neighbours apart"),
    make_policy_entry<policies::ssp>(
        "node and device that lose the fewest positions for requests, each weighted by its scarcity (learned demand)",
        "take it with moves, if GPUs are cut by MIG and pods may move"),
    make_policy_entry<policies::worst_fit>(
        "node with the most idle device capacity left over, then device with the most left over", a_baseline),
};

} // namespace vgpualloc
