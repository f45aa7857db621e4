// Inputs of a call from Python: bytes and tables under names, and files under all other names.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "input_columns.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgputraces/file_source.hpp"

namespace vgpupython {

namespace nb = nanobind;

class python_source final : public vgpuformats::input_source {
public:
    /// Pairs of a name and bytes or input_columns, which have to outlive the source.
    explicit python_source(nb::list named) {
        for (const nb::handle pair : named) {
            const std::string name = nb::cast<std::string>(pair[nb::int_(0)]);
            const nb::object value = pair[nb::int_(1)];
            if (nb::isinstance<nb::bytes>(value)) {
                const nb::bytes bytes = nb::borrow<nb::bytes>(value);
                values_.add(name, std::string_view{bytes.c_str(), bytes.size()});
            } else {
                values_.add(name, nb::cast<const input_columns&>(value).table());
            }
            kept_.push_back(value);
        }
    }

    [[nodiscard]] vgpualloc::expected<vgpuformats::input_text>
    read(const std::string& name, const vgpuformats::input_options& options) const override {
        return values_.has(name) ? values_.read(name, options) : files_.read(name, options);
    }
    [[nodiscard]] bool has(const std::string& name) const override { return values_.has(name) || files_.has(name); }
    [[nodiscard]] std::string resolve(const std::string& name) const override {
        return values_.has(name) ? name : files_.resolve(name);
    }
    [[nodiscard]] std::string resolve_from(const std::string& from, const std::string& name) const override {
        return values_.has(name) ? name : files_.resolve_from(from, name);
    }

private:
    vgpuformats::memory_source values_;
    vgputraces::file_source files_;
    std::vector<nb::object> kept_;
};

} // namespace vgpupython
