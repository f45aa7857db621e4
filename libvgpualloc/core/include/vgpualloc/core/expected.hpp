// expected<T, E>: our alias, and the one third-party include in core/. g++ 12 has no monadic std::expected.
#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "vgpualloc/core/error.hpp"

namespace vgpualloc {

template <class T, class E = error>
using expected = tl::expected<T, E>;

template <class E>
[[nodiscard]] constexpr auto unexpected(E&& failure) {
    return tl::unexpected<std::decay_t<E>>(std::forward<E>(failure));
}

} // namespace vgpualloc
