#include "input_columns.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "errors.hpp"

namespace vgpupython {

namespace {

using number_array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
std::span<const Number> span_of(const number_array& array) {
    return {static_cast<const Number*>(array.data()), array.size()};
}

} // namespace

input_columns input_columns::from_pairs(const std::string& name, nb::list pairs) {
    input_columns result;
    for (const nb::handle pair : pairs) {
        const auto column_name = nb::cast<std::string>(pair[nb::int_(0)]);
        const nb::object cells = pair[nb::int_(1)];
        vgpuformats::column_view view{.name = result.texts_.emplace_back(column_name), .cells = {}};
        number_array array;
        if (nb::try_cast(cells, array)) {
            if (array.dtype() == nb::dtype<std::int64_t>()) {
                view.cells = span_of<std::int64_t>(array);
            } else if (array.dtype() == nb::dtype<double>()) {
                view.cells = span_of<double>(array);
            } else if (array.dtype() == nb::dtype<bool>()) {
                view.cells = span_of<std::uint8_t>(array);
            } else {
                raise(bad_input(vgpualloc::error_code::unsupported, column_name, "an array of a type that no list has",
                                "int64, float64, bool or text")
                          .at(name));
            }
            result.kept_.push_back(cells);
        } else {
            std::string& texts = result.texts_.emplace_back();
            auto& offsets = result.wholes_.emplace_back(1, 0);
            auto& valid = result.bytes_.emplace_back();
            bool has_empty = false;
            for (const nb::handle cell : cells) {
                check_signals(valid.size());
                valid.push_back(static_cast<std::uint8_t>(!cell.is_none()));
                if (cell.is_none()) {
                    has_empty = true;
                } else {
                    Py_ssize_t size = 0;
                    const char* const text = PyUnicode_AsUTF8AndSize(cell.ptr(), &size);
                    if (text == nullptr) throw nb::python_error();
                    texts.append(text, static_cast<std::size_t>(size));
                }
                offsets.push_back(static_cast<std::int64_t>(texts.size()));
            }
            view.cells = vgpuformats::joined_texts{.offsets = offsets, .bytes = texts};
            if (has_empty) view.valid = valid;
        }
        result.table_.columns.push_back(view);
    }
    return result;
}

} // namespace vgpupython
