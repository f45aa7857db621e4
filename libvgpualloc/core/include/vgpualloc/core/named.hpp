// Classes with a name that lists and commands know them by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace vgpualloc {

/// A text that can be a template argument.
template <std::size_t Size>
struct text_constant {
    char characters[Size]{}; ///< with the closing zero

    consteval text_constant(const char (&text)[Size]) { std::ranges::copy(text, characters); }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters, Size - 1}; }
};

/// The base of a class that is known by a name: `class binpack final : public named<"binpack", policy>`. The list takes
/// the name from `id`; whoever holds an object gets it from name(), which `Base` declares.
template <text_constant Name, class Base>
class named : public Base {
public:
    static constexpr std::string_view id = Name.view();

    using Base::Base;
    [[nodiscard]] std::string_view name() const noexcept final { return id; }
};

} // namespace vgpualloc
