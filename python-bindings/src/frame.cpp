#include "frame.hpp"

#include <string>
#include <unordered_map>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "texts.hpp"

namespace vgpupython {

namespace {

using vgpufacade::coded_column;
using vgpufacade::column_values;

template <class Number, class Shown = Number>
nb::object view_of(const std::vector<Number>& numbers, const shared_table& table) {
    const nb::capsule owner{new shared_table{table}, // NOLINT: Python deletes it
                            [](void* share) noexcept { delete static_cast<shared_table*>(share); }};
    const auto* const data = reinterpret_cast<const Shown*>(numbers.data()); // NOLINT: bool as NumPy has it
    return nb::ndarray<nb::numpy, const Shown, nb::ndim<1>>(data, {numbers.size()}, owner).cast();
}

/// Values of Python, which are all of one kind but for None.
column_values values_of(nb::handle cells) {
    bool truths = true;
    bool wholes = true;
    bool texts = true;
    bool any = false;
    for (const nb::handle cell : cells) {
        if (cell.is_none()) {
            truths = wholes = false;
            continue;
        }
        any = true;
        const bool is_truth = PyBool_Check(cell.ptr());
        const bool is_text = PyUnicode_Check(cell.ptr());
        truths = truths && is_truth;
        wholes = wholes && PyLong_Check(cell.ptr()) && !is_truth;
        texts = texts && is_text;
    }
    if (any && truths) {
        std::vector<std::uint8_t> result;
        for (const nb::handle cell : cells) result.push_back(static_cast<std::uint8_t>(nb::cast<bool>(cell)));
        return result;
    }
    if (any && wholes) {
        std::vector<std::int64_t> result;
        for (const nb::handle cell : cells) {
            const std::int64_t value = PyLong_AsLongLong(cell.ptr());
            if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
            result.push_back(value);
        }
        return result;
    }
    if (texts) { // also where there is no value at all
        coded_column result;
        std::unordered_map<std::string, std::int32_t> known;
        for (const nb::handle cell : cells) {
            const std::string text = cell.is_none() ? std::string{} : nb::cast<std::string>(cell);
            const auto [entry, is_new] = known.try_emplace(text, static_cast<std::int32_t>(result.dictionary.size()));
            if (is_new) result.dictionary.push_back(text);
            result.codes.push_back(entry->second);
        }
        return result;
    }
    std::vector<double> result;
    for (const nb::handle cell : cells) {
        const double value = cell.is_none() ? std::numeric_limits<double>::quiet_NaN() : PyFloat_AsDouble(cell.ptr());
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        result.push_back(value);
    }
    return result;
}

} // namespace

frame frame::from_pairs(nb::list pairs) {
    auto table = std::make_shared<vgpufacade::table>();
    for (const nb::handle pair : pairs) {
        const auto name = nb::cast<std::string>(pair[nb::int_(0)]);
        const nb::object cells = pair[nb::int_(1)];
        table->columns.push_back({.name = name, .unit = "", .values = values_of(cells)});
    }
    return frame{std::move(table)};
}

const vgpufacade::column& frame::at(std::size_t column) const {
    if (column >= table_->columns.size()) throw nb::index_error();
    return table_->columns[column];
}

const char* frame::kind(std::size_t column) const {
    constexpr const char* names[] = {"int64", "float64", "bool", "text"};
    return names[at(column).values.index()];
}

nb::object frame::array(std::size_t column) const {
    const auto& values = at(column).values;
    if (const auto* const wholes = std::get_if<std::vector<std::int64_t>>(&values)) return view_of(*wholes, table_);
    if (const auto* const reals = std::get_if<std::vector<double>>(&values)) return view_of(*reals, table_);
    if (const auto* const truths = std::get_if<std::vector<std::uint8_t>>(&values)) {
        return view_of<std::uint8_t, bool>(*truths, table_);
    }
    return view_of(std::get<coded_column>(values).codes, table_);
}

nb::list frame::dictionary(std::size_t column) const {
    nb::list texts;
    if (const auto* const coded = std::get_if<coded_column>(&at(column).values)) {
        for (const std::string& text : coded->dictionary) texts.append(text_of(text));
    }
    return texts;
}

} // namespace vgpupython
