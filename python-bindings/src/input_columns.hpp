// Tables of Python as lists of the simulator.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "vgpuformats/column_table.hpp"

namespace vgpupython {

namespace nb = nanobind;

/// Named columns with all that they point to.
class input_columns {
public:
    /// What an object with __arrow_c_stream__ exports, copied once. Raises InputError, which calls the table `name`:
    /// unsupported for a column of a type that no list has.
    [[nodiscard]] static input_columns from_arrow(const std::string& name, nb::handle exporter);
    /// Pairs of a name and its cells: a NumPy array of int64, float64 or bool in one piece, which is not copied and
    /// must not be changed while it is used; or a sequence of texts, in which None is an empty cell.
    [[nodiscard]] static input_columns from_pairs(const std::string& name, nb::list pairs);

    [[nodiscard]] const vgpuformats::column_table& table() const noexcept { return table_; }

private:
    friend class arrow_reader;
    vgpuformats::column_table table_;
    // Nothing in these moves when more is added.
    std::deque<std::string> texts_;
    std::deque<std::vector<std::int64_t>> wholes_;
    std::deque<std::vector<double>> reals_;
    std::deque<std::vector<std::uint8_t>> bytes_;
    std::vector<nb::object> kept_;
};

} // namespace vgpupython
