// The always-on assertion, the debug-only one, and hints to the compiler: every macro of the library.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace vgpualloc {

/// Says that an address will be read soon.
inline void prefetch([[maybe_unused]] const void* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

} // namespace vgpualloc

namespace vgpualloc::detail {

/// Prints the broken invariant and aborts. A broken invariant is a bug of ours, never of the input, so it stops every
/// build: a wrong ledger that keeps running would hand out a device twice.
[[noreturn]] inline void invariant_failed(const char* invariant, const char* file, int line) noexcept {
    std::fprintf(stderr, "vgpualloc: broken invariant: %s (%s:%d)\n", invariant, file, line);
    std::abort();
}

} // namespace vgpualloc::detail

/// Stays on in release builds. `name` is a sentence naming the invariant.
#define VGA_ASSERT(condition, name)                                                                                    \
    (static_cast<bool>(condition) ? static_cast<void>(0)                                                               \
                                  : ::vgpualloc::detail::invariant_failed(name, __FILE__, __LINE__))

/// For checks that cost more than the operation they guard. On in debug and sanitizer builds and in the tests.
#if defined(VGA_VERIFY_EACH_STEP)
#define VGA_ASSERT_SLOW(condition, name) VGA_ASSERT(condition, name)
#define VGA_VERIFY_ENABLED 1
#else
#define VGA_ASSERT_SLOW(condition, name) static_cast<void>(0)
#define VGA_VERIFY_ENABLED 0
#endif

/// What a pointer points to is reached by no other pointer of the function.
#if defined(__GNUC__)
#define VGA_RESTRICT __restrict__
#else
#define VGA_RESTRICT
#endif

/// Decisions spend their time in functions with this mark. They lie side by side in the program, where they fit into
/// the processor's instruction cache together.
#if defined(__GNUC__)
#define VGA_HOT [[gnu::hot]]
#else
#define VGA_HOT
#endif
