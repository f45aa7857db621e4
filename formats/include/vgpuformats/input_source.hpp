// Where inputs come from: files for a command line, texts and columns in memory for a program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/column_table.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/kept_values.hpp"

namespace vgpuformats {

/// Reads an input by its name. Nothing below a source knows whether the name is that of a file.
class input_source {
public:
    input_source() = default;
    virtual ~input_source() = default;
    input_source(const input_source&) = delete;
    input_source& operator=(const input_source&) = delete;

    /// The input of that name, inflated if it is compressed. Errors: those of read_input(); missing where there is none
    /// of that name.
    [[nodiscard]] virtual vgpualloc::expected<input_text> read(const std::string& name,
                                                               const input_options& options) const = 0;
    /// Whether there is an input of that name.
    [[nodiscard]] virtual bool has(const std::string& name) const = 0;
    /// The name under which read() has a list that is called `name`.
    [[nodiscard]] virtual std::string resolve(const std::string& name) const = 0;
    /// The same of an input that the input `from` names, seen from there.
    [[nodiscard]] virtual std::string resolve_from(const std::string& from, const std::string& name) const = 0;

    /// Where values that were made of inputs wait for the next question; null: each question makes its own.
    [[nodiscard]] virtual kept_values* kept() const { return nullptr; }
    /// What is another text once the bytes of that input have changed. Empty: that cannot be told.
    [[nodiscard]] virtual std::string version_of(const std::string& /*name*/) const { return {}; }
};

/// Inputs that the caller gives as values and that must outlive the source. It touches no file system. Names are the
/// caller's; "a/b.csv" is found as "b.csv" from "a/x.json", as files are.
class memory_source final : public input_source {
public:
    /// Adds a text, compressed with gzip or not; one of the same name is replaced.
    void add(std::string name, std::string_view bytes) { inputs_.insert_or_assign(std::move(name), bytes); }
    /// Adds columns, for lists alone.
    void add(std::string name, const column_table& columns) { inputs_.insert_or_assign(std::move(name), &columns); }

    [[nodiscard]] vgpualloc::expected<input_text> read(const std::string& name,
                                                       const input_options& options) const override;
    [[nodiscard]] bool has(const std::string& name) const override { return inputs_.contains(name); }
    [[nodiscard]] std::string resolve(const std::string& name) const override { return name; }
    [[nodiscard]] std::string resolve_from(const std::string& from, const std::string& name) const override;

private:
    std::map<std::string, std::variant<std::string_view, const column_table*>, std::less<>> inputs_;
};

} // namespace vgpuformats
