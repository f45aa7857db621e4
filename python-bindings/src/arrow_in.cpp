// Arrow streams as columns.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "arrow_interface.hpp"
#include "errors.hpp"
#include "input_columns.hpp"

namespace vgpupython {

/// An Arrow structure, which its producer frees.
template <class Structure>
class held {
public:
    held() = default;
    held(const held&) = delete;
    held& operator=(const held&) = delete;
    ~held() {
        if (value_.release != nullptr) value_.release(&value_);
    }
    [[nodiscard]] Structure* get() noexcept { return &value_; }
    [[nodiscard]] Structure* operator->() noexcept { return &value_; }

private:
    Structure value_{};
};

namespace {

using vgpualloc::bad_input;
using vgpualloc::bad_value;
using vgpualloc::error_code;

bool bit_at(const void* bits, std::int64_t position) {
    const auto* const bytes = static_cast<const std::uint8_t*>(bits);
    return (bytes[position / 8] >> (position % 8) & 1) != 0;
}

template <class Number>
Number number_at(const void* numbers, std::int64_t position) {
    Number value{};
    std::memcpy(&value, static_cast<const char*>(numbers) + position * static_cast<std::int64_t>(sizeof(Number)),
                sizeof(Number));
    return value;
}

/// Calls with a number of the type that a format names; false: it names none.
template <class Visit>
bool with_whole_type(std::string_view format, Visit visit) {
    if (format == "c") return visit(std::int8_t{}), true;
    if (format == "C") return visit(std::uint8_t{}), true;
    if (format == "s") return visit(std::int16_t{}), true;
    if (format == "S") return visit(std::uint16_t{}), true;
    if (format == "i") return visit(std::int32_t{}), true;
    if (format == "I") return visit(std::uint32_t{}), true;
    if (format == "l") return visit(std::int64_t{}), true;
    if (format == "L") return visit(std::uint64_t{}), true;
    return false;
}

/// The text at a position of an array of texts.
std::string_view text_at(std::string_view format, const ArrowArray& array, std::int64_t position) {
    const std::int64_t at = array.offset + position;
    if (format == "vu" || format == "vz") { // 16 bytes each: the length, and the text or where it is
        const char* const view = static_cast<const char*>(array.buffers[1]) + at * 16;
        const auto length = static_cast<std::size_t>(number_at<std::int32_t>(view, 0));
        if (length <= 12) return {view + 4, length};
        const auto buffer = number_at<std::int32_t>(view, 2);
        const auto begin = number_at<std::int32_t>(view, 3);
        return {static_cast<const char*>(array.buffers[2 + buffer]) + begin, length};
    }
    const auto* const bytes = static_cast<const char*>(array.buffers[2]);
    const bool is_large = format == "U" || format == "Z";
    const std::int64_t begin = is_large ? number_at<std::int64_t>(array.buffers[1], at)
                                        : std::int64_t{number_at<std::int32_t>(array.buffers[1], at)};
    const std::int64_t end = is_large ? number_at<std::int64_t>(array.buffers[1], at + 1)
                                      : std::int64_t{number_at<std::int32_t>(array.buffers[1], at + 1)};
    if (end == begin) return {}; // of no texts there may be no bytes
    return {bytes + begin, static_cast<std::size_t>(end - begin)};
}

/// Whether it is a point in time: seconds, or thousandths of these and so on, since 1970.
bool is_time(std::string_view format) { return format.size() >= 4 && format.starts_with("ts") && format[3] == ':'; }

/// "2017-10-09 07:00:11.500000", as lists may have it.
std::string time_text(std::string_view format, std::int64_t value) {
    using namespace std::chrono;
    const std::int64_t per_second = format[2] == 's'   ? 1
                                    : format[2] == 'm' ? 1'000
                                    : format[2] == 'u' ? 1'000'000
                                                       : 1'000'000'000;
    const seconds whole{value / per_second - (value % per_second < 0 ? 1 : 0)};
    const std::int64_t rest = value % per_second + (value % per_second < 0 ? per_second : 0);
    const std::int64_t micros = per_second > 1'000'000 ? rest / 1'000 : rest * (1'000'000 / per_second);
    const auto day = floor<days>(whole);
    const year_month_day date{sys_days{day}};
    const hh_mm_ss time{whole - day};
    const auto padded = [](std::int64_t number, std::size_t digits) {
        std::string text = std::to_string(number);
        return text.insert(0, digits - std::min(digits, text.size()), '0');
    };
    return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
           padded(static_cast<unsigned>(date.day()), 2) + " " + padded(time.hours().count(), 2) + ":" +
           padded(time.minutes().count(), 2) + ":" + padded(time.seconds().count(), 2) + "." + padded(micros, 6);
}

bool is_text(std::string_view format) {
    return format == "u" || format == "U" || format == "vu" || format == "z" || format == "Z" || format == "vz";
}

} // namespace

/// Copies a stream, chunk by chunk.
class arrow_reader {
public:
    arrow_reader(const std::string& name, ArrowArrayStream& stream) : name_{&name}, stream_{&stream} {}

    [[nodiscard]] input_columns read() {
        if (stream_->get_schema(stream_, schema_.get()) != 0) fail();
        if (std::string_view{schema_->format} != "+s") refuse("", schema_->format, "a table: columns with names");
        for (std::int64_t c = 0; c < schema_->n_children; ++c) add_column(*schema_->children[c]);
        while (true) {
            held<ArrowArray> chunk;
            if (stream_->get_next(stream_, chunk.get()) != 0) fail();
            if (chunk->release == nullptr) break; // the end
            for (std::size_t c = 0; c < kinds_.size(); ++c) {
                append(c, *schema_->children[c], *chunk->children[c], chunk->offset, chunk->length);
            }
        }
        for (std::size_t c = 0; c < kinds_.size(); ++c) finish(c);
        return std::move(result_);
    }

private:
    enum class column_kind : std::uint8_t { wholes, reals, truths, texts, nothing };
    struct growing {
        column_kind kind = column_kind::nothing;
        std::vector<std::int64_t>* wholes = nullptr; ///< or the offsets of texts
        std::vector<double>* reals = nullptr;
        std::vector<std::uint8_t>* truths = nullptr;
        std::string* texts = nullptr;
        std::vector<std::uint8_t>* valid = nullptr;
        bool has_empty = false;
    };

    [[noreturn]] void fail() {
        const char* const why = stream_->get_last_error(stream_);
        raise(bad_input(error_code::malformed, "", why == nullptr ? "the Arrow stream fails" : why).at(*name_));
    }
    [[noreturn]] void refuse(const std::string& column, const std::string& format, const std::string& expected) {
        raise(bad_value(error_code::unsupported, column, "Arrow type " + format, expected).at(*name_));
    }

    void add_column(const ArrowSchema& described) {
        growing column;
        const std::string_view format = described.format;
        const std::string_view value_format =
            described.dictionary == nullptr ? format : std::string_view{described.dictionary->format};
        if (is_text(value_format) || (is_time(format) && described.dictionary == nullptr)) {
            column.kind = column_kind::texts;
            column.texts = &result_.texts_.emplace_back();
            column.wholes = &result_.wholes_.emplace_back(1, 0);
        } else if (described.dictionary != nullptr) {
            refuse(described.name, std::string{value_format} + " in a dictionary", "a dictionary of texts");
        } else if (format == "f" || format == "g") {
            column.kind = column_kind::reals;
            column.reals = &result_.reals_.emplace_back();
        } else if (format == "b") {
            column.kind = column_kind::truths;
            column.truths = &result_.bytes_.emplace_back();
        } else if (with_whole_type(format, [](auto) {})) {
            column.kind = column_kind::wholes;
            column.wholes = &result_.wholes_.emplace_back();
        } else if (format == "n") { // all are null
            column.kind = column_kind::reals;
            column.reals = &result_.reals_.emplace_back();
        } else {
            refuse(described.name, std::string{format}, "whole numbers, real numbers, bool, text or times");
        }
        column.valid = &result_.bytes_.emplace_back();
        kinds_.push_back(column);
        names_.push_back(&result_.texts_.emplace_back(described.name == nullptr ? "" : described.name));
    }

    /// `first` and `rows`: the part of the column that the chunk has.
    void append(std::size_t number, const ArrowSchema& described, const ArrowArray& array, std::int64_t first,
                std::int64_t rows) {
        growing& column = kinds_[number];
        const std::string_view format = described.format;
        for (std::int64_t row = first; row < first + rows; ++row) {
            check_signals(static_cast<std::size_t>(row));
            const std::int64_t at = array.offset + row;
            const bool has_bits = array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr;
            const bool filled = format != "n" && (!has_bits || bit_at(array.buffers[0], at));
            column.valid->push_back(static_cast<std::uint8_t>(filled));
            if (!filled) column.has_empty = true;
            append_cell(column, described, array, row, filled);
        }
    }

    void append_cell(growing& column, const ArrowSchema& described, const ArrowArray& array, std::int64_t row,
                     bool filled) {
        const std::string_view format = described.format;
        const std::int64_t at = array.offset + row;
        switch (column.kind) {
        case column_kind::wholes:
            with_whole_type(format, [&](auto type) {
                using number = decltype(type);
                const auto value = filled ? number_at<number>(array.buffers[1], at) : number{};
                if constexpr (std::is_same_v<number, std::uint64_t>) {
                    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
                        raise(bad_value(error_code::out_of_range, described.name, std::to_string(value),
                                        "a whole number below 2^63")
                                  .at(*name_ + " row " + std::to_string(row + 1)));
                    }
                }
                column.wholes->push_back(static_cast<std::int64_t>(value));
            });
            break;
        case column_kind::reals:
            if (!filled) {
                column.reals->push_back(std::numeric_limits<double>::quiet_NaN());
            } else if (format == "f") {
                column.reals->push_back(static_cast<double>(number_at<float>(array.buffers[1], at)));
            } else {
                column.reals->push_back(number_at<double>(array.buffers[1], at));
            }
            break;
        case column_kind::truths:
            column.truths->push_back(static_cast<std::uint8_t>(filled && bit_at(array.buffers[1], at)));
            break;
        case column_kind::texts:
            if (filled) append_text(column, described, array, row);
            column.wholes->push_back(static_cast<std::int64_t>(column.texts->size()));
            break;
        case column_kind::nothing:
            break;
        }
    }

    void append_text(growing& column, const ArrowSchema& described, const ArrowArray& array, std::int64_t row) {
        if (is_time(described.format)) {
            *column.texts += time_text(described.format, number_at<std::int64_t>(array.buffers[1], array.offset + row));
            return;
        }
        if (described.dictionary == nullptr) {
            *column.texts += text_at(described.format, array, row);
            return;
        }
        std::int64_t code = 0;
        with_whole_type(described.format, [&](auto type) {
            code = static_cast<std::int64_t>(number_at<decltype(type)>(array.buffers[1], array.offset + row));
        });
        *column.texts += text_at(described.dictionary->format, *array.dictionary, code);
    }

    void finish(std::size_t number) {
        const growing& column = kinds_[number];
        vgpuformats::column_view view{.name = *names_[number], .cells = {}};
        switch (column.kind) {
        case column_kind::wholes:
            view.cells = std::span<const std::int64_t>{*column.wholes};
            break;
        case column_kind::reals:
            view.cells = std::span<const double>{*column.reals};
            break;
        case column_kind::truths:
            view.cells = std::span<const std::uint8_t>{*column.truths};
            break;
        case column_kind::texts:
        case column_kind::nothing:
            view.cells = vgpuformats::joined_texts{.offsets = *column.wholes, .bytes = *column.texts};
            break;
        }
        if (column.has_empty) view.valid = *column.valid;
        result_.table_.columns.push_back(view);
    }

    const std::string* name_;
    ArrowArrayStream* stream_;
    held<ArrowSchema> schema_;
    input_columns result_;
    std::vector<growing> kinds_;
    std::vector<const std::string*> names_;
};

input_columns input_columns::from_arrow(const std::string& name, nb::handle exporter) {
    const nb::object capsule = exporter.attr("__arrow_c_stream__")();
    auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    return arrow_reader{name, *stream}.read();
}

} // namespace vgpupython
