// The part of HiGHS's C interface (interfaces/highs_c_api.h of HiGHS, MIT licence) that is called here, declared once
// more: a wheel is built where no HiGHS is. linked_highs.cpp compares every line with HiGHS's own header, and does not
// compile where one differs.
#pragma once

#include <memory>

#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpualloc::solver {

using HighsInt = int; // loaded_highs.cpp refuses a library whose integers are wider

/// Gets the kind of the call, a message, the state of the solver, its answer (user_interrupt, an int, is the first of
/// it) and what the caller passed.
using highs_callback = void (*)(int, const char*, const void*, void*, void*);

// F(result, name, parameters) for every function, F(name, value) for every constant.
#define VGA_HIGHS_FUNCTIONS(F)                                                                                         \
    F(void*, create, ())                                                                                               \
    F(void, destroy, (void*))                                                                                          \
    F(const char*, version, ())                                                                                        \
    F(HighsInt, getSizeofHighsInt, (const void*))                                                                      \
    F(HighsInt, setBoolOptionValue, (void*, const char*, HighsInt))                                                    \
    F(HighsInt, setIntOptionValue, (void*, const char*, HighsInt))                                                     \
    F(HighsInt, setDoubleOptionValue, (void*, const char*, double))                                                    \
    F(HighsInt, setStringOptionValue, (void*, const char*, const char*))                                               \
    F(HighsInt, passLp,                                                                                                \
      (void*, HighsInt, HighsInt, HighsInt, HighsInt, HighsInt, double, const double*, const double*, const double*,   \
       const double*, const double*, const HighsInt*, const HighsInt*, const double*))                                 \
    F(HighsInt, passMip,                                                                                               \
      (void*, HighsInt, HighsInt, HighsInt, HighsInt, HighsInt, double, const double*, const double*, const double*,   \
       const double*, const double*, const HighsInt*, const HighsInt*, const double*, const HighsInt*))                \
    F(HighsInt, setBasis, (void*, const HighsInt*, const HighsInt*))                                                   \
    F(HighsInt, setCallback, (void*, highs_callback, void*))                                                           \
    F(HighsInt, startCallback, (void*, int))                                                                           \
    F(HighsInt, run, (void*))                                                                                          \
    F(HighsInt, clearSolver, (void*))                                                                                  \
    F(HighsInt, getModelStatus, (const void*))                                                                         \
    F(HighsInt, getIntInfoValue, (const void*, const char*, HighsInt*))                                                \
    F(HighsInt, getDoubleInfoValue, (const void*, const char*, double*))                                               \
    F(double, getObjectiveValue, (const void*))                                                                        \
    F(HighsInt, getSolution, (const void*, double*, double*, double*, double*))                                        \
    F(HighsInt, getBasis, (const void*, HighsInt*, HighsInt*))
#define VGA_HIGHS_CONSTANTS(F)                                                                                         \
    F(StatusError, -1)                                                                                                 \
    F(StatusOk, 0)                                                                                                     \
    F(VarTypeContinuous, 0)                                                                                            \
    F(VarTypeInteger, 1)                                                                                               \
    F(ObjSenseMinimize, 1)                                                                                             \
    F(ObjSenseMaximize, -1)                                                                                            \
    F(MatrixFormatColwise, 1)                                                                                          \
    F(SolutionStatusNone, 0)                                                                                           \
    F(SolutionStatusFeasible, 2)                                                                                       \
    F(ModelStatusModelEmpty, 6)                                                                                        \
    F(ModelStatusOptimal, 7)                                                                                           \
    F(ModelStatusInfeasible, 8)                                                                                        \
    F(ModelStatusUnboundedOrInfeasible, 9)                                                                             \
    F(ModelStatusUnbounded, 10)                                                                                        \
    F(ModelStatusIterationLimit, 14)                                                                                   \
    F(ModelStatusSolutionLimit, 16)                                                                                    \
    F(ModelStatusInterrupt, 17)                                                                                        \
    F(BasisStatusLower, 0)                                                                                             \
    F(BasisStatusBasic, 1)                                                                                             \
    F(BasisStatusUpper, 2)                                                                                             \
    F(BasisStatusZero, 3)                                                                                              \
    F(CallbackSimplexInterrupt, 1)                                                                                     \
    F(CallbackMipInterrupt, 6)

#define VGA_HIGHS_CONSTANT(name, value) inline constexpr HighsInt kHighs##name = value;
VGA_HIGHS_CONSTANTS(VGA_HIGHS_CONSTANT)
#undef VGA_HIGHS_CONSTANT

/// Where the functions are: in a library that is linked, or in one that was loaded.
struct highs_functions {
#define VGA_HIGHS_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
    VGA_HIGHS_FUNCTIONS(VGA_HIGHS_MEMBER)
#undef VGA_HIGHS_MEMBER
};

[[nodiscard]] std::unique_ptr<plan::lp_solver> make_highs(const highs_functions& functions, const stop_signal& stop);

} // namespace vgpualloc::solver
