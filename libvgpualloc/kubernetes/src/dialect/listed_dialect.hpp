// What the dialects of the list have in common that are made of options.
#pragma once

#include <string_view>
#include <utility>

#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects {

/// A dialect that has the name of its entry and keeps its options.
template <const dialect_entry& Entry, class Options>
class listed_dialect : public dialect {
public:
    explicit listed_dialect(Options configured) : options_{std::move(configured)} {}

    [[nodiscard]] std::string_view name() const noexcept final { return Entry.name; }

protected:
    Options options_;
};

} // namespace vgpualloc::dialects
