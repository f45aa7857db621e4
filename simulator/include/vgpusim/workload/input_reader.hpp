// Reads the inputs of a run from where they are, and records which they were.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpuformats/input_source.hpp"
#include "vgpuformats/list_content.hpp"
#include "vgpusim/workload/input.hpp"

namespace vgpusim {

/// Whether a reader records its inputs. Checksums of large inputs take time.
enum class records_kept : bool { none, all };

/// Every input is read once, so that the checksum is of what was used. The source must outlive the reader.
class input_reader {
public:
    explicit input_reader(const vgpuformats::input_source& source, records_kept kept = records_kept::none,
                          stop_signal stop = {})
        : source_{&source}, kept_{kept}, stop_{stop} {}

    /// A text of that name. Errors: those of the source; unsupported for columns; stopped.
    [[nodiscard]] expected<vgpuformats::input_text> read(const std::string& name,
                                                         std::size_t bytes_max = vgpuformats::document_bytes_max);

    /// What `read` makes of a list, a text or columns, and of the name under which the source has it. Errors: those of
    /// the source and of `read`.
    template <class Read>
    auto read_list(const std::string& name, const Read& read)
        -> decltype(read(std::declval<const vgpuformats::list_content&>(), name)) {
        auto input = take(source_->resolve(name), vgpuformats::list_bytes_max);
        if (!input) return unexpected(std::move(input).error());
        vgpuformats::list_content content{input->text};
        content.table = input->table;
        content.stop = stop_;
        return read(content, input->name);
    }

    /// The same of a list that has to be a text.
    template <class Read>
    auto read_text(const std::string& name, const Read& read) -> decltype(read(std::string_view{}, name)) {
        const auto input = this->read(source_->resolve(name), vgpuformats::list_bytes_max);
        if (!input) return unexpected(input.error());
        return read(std::string_view{input->text}, input->name);
    }

    /// In the order of reading.
    [[nodiscard]] const std::vector<input_file>& records() const noexcept { return records_; }
    /// Whether every input is to be recorded, and so to be read.
    [[nodiscard]] bool keeps_records() const noexcept { return kept_ != records_kept::none; }
    [[nodiscard]] const vgpuformats::input_source& source() const noexcept { return *source_; }
    [[nodiscard]] const stop_signal& stop() const noexcept { return stop_; }

private:
    [[nodiscard]] expected<vgpuformats::input_text> take(const std::string& name, std::size_t bytes_max);

    const vgpuformats::input_source* source_;
    records_kept kept_;
    stop_signal stop_;
    std::vector<input_file> records_;
};

} // namespace vgpusim
