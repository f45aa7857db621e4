// Columns of results as Python sees them.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "vgpufacade/columns.hpp"

namespace vgpupython {

namespace nb = nanobind;

using shared_table = std::shared_ptr<const vgpufacade::table>;

/// Columns that never change. NumPy views of them and Arrow streams own a share.
class frame {
public:
    explicit frame(shared_table table) : table_{std::move(table)} {}

    /// Of pairs of a name and a list of values: all bool, all whole, all numbers or None, or all text or None.
    [[nodiscard]] static frame from_pairs(nb::list pairs);

    [[nodiscard]] const vgpufacade::table& table() const noexcept { return *table_; }
    /// "int64", "float64", "bool" or "text".
    [[nodiscard]] const char* kind(std::size_t column) const;
    /// A read-only view; of texts their codes, int32.
    [[nodiscard]] nb::object array(std::size_t column) const;
    /// The texts that codes stand for.
    [[nodiscard]] nb::list dictionary(std::size_t column) const;
    /// A capsule for the Arrow PyCapsule protocol, with the columns as one chunk; texts are dictionaries.
    [[nodiscard]] nb::capsule arrow_stream() const;

private:
    [[nodiscard]] const vgpufacade::column& at(std::size_t column) const;
    shared_table table_;
};

} // namespace vgpupython
