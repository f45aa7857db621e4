// HiGHS as a library that is linked.
#include <cstddef>
#include <type_traits>

#include <interfaces/highs_c_api.h>

#include "highs_functions.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace vgpualloc::solver {

namespace {

#define VGA_HIGHS_SAME(name, value) static_assert(kHighs##name == ::kHighs##name);
VGA_HIGHS_CONSTANTS(VGA_HIGHS_SAME)
#undef VGA_HIGHS_SAME
static_assert(std::is_same_v<HighsInt, ::HighsInt>);
static_assert(offsetof(HighsCallbackDataIn, user_interrupt) == 0);
static_assert(std::is_same_v<decltype(HighsCallbackDataIn::user_interrupt), int>);

/// A function of HiGHS as it is declared here: the same, but for the structures that a callback points to.
template <class Declared, class Theirs>
Declared checked(Theirs function) {
    if constexpr (std::is_same_v<Declared, Theirs>) {
        return function;
    } else {
        static_assert(std::is_same_v<Theirs, ::HighsInt (*)(void*, HighsCCallbackType, void*)>);
        return reinterpret_cast<Declared>(function); // NOLINT: both take pointers alone
    }
}

highs_functions linked_functions() {
    highs_functions functions;
#define VGA_HIGHS_LINK(result, name, parameters) functions.name = checked<decltype(functions.name)>(&::Highs_##name);
    VGA_HIGHS_FUNCTIONS(VGA_HIGHS_LINK)
#undef VGA_HIGHS_LINK
    return functions;
}

} // namespace

std::unique_ptr<plan::lp_solver> make_highs(const stop_signal& stop) { return make_highs(linked_functions(), stop); }

} // namespace vgpualloc::solver
