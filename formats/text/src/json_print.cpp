// Documents as JSON texts.
#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "vgpualloc/core/printable.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuformats {
namespace {

using nlohmann::json;

/// A JSON text may reach a terminal: what would steer it is written as an escape, which means the same.
void append_unseen_escaped(std::string_view printed, std::string& to) {
    while (!printed.empty()) {
        const auto next = vgpualloc::first_character(printed); // always one: what is no UTF-8 was replaced
        if (vgpualloc::detail::steers(next.code)) {
            to += "\\u";
            vgpualloc::detail::append_hex(to, next.code, 4);
        } else {
            to += printed.substr(0, next.length);
        }
        printed.remove_prefix(next.length);
    }
}

void print_text(std::string_view text, std::string& to) {
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (std::ranges::all_of(text, plain)) {
        to += '"';
        to += text;
        to += '"';
    } else {
        append_unseen_escaped(json(text).dump(-1, ' ', false, json::error_handler_t::replace), to);
    }
}

/// Prints on one line, or with a line for every entry where there is an indent.
class printer {
public:
    explicit printer(std::size_t indent) : indent_{indent} {}

    void print(const document& value) {
        switch (value.kind) {
        case value_kind::null:
            text_ += "null";
            return;
        case value_kind::boolean:
            text_ += value.text;
            return;
        case value_kind::number:
            text_ += json_number(value.text);
            return;
        case value_kind::text:
            print_text(value.text, text_);
            return;
        case value_kind::list:
            return print_entries(value.items, '[', ']', [this](const document& item) { print(item); });
        case value_kind::map:
            return print_entries(value.members, '{', '}', [this](const document::member& member) {
                print_text(member.first, text_);
                text_ += indent_ > 0 ? ": " : ":";
                print(member.second);
            });
        }
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    template <class Entries, class Print>
    void print_entries(const Entries& entries, char open, char close, Print print_entry) {
        text_ += open;
        ++level_;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (i > 0) text_ += ',';
            begin_line();
            print_entry(entries[i]);
        }
        --level_;
        if (!entries.empty()) begin_line();
        text_ += close;
    }
    void begin_line() {
        if (indent_ == 0) return;
        text_ += '\n';
        text_.append(indent_ * level_, ' ');
    }

    std::size_t indent_;
    std::size_t level_ = 0;
    std::string text_;
};

} // namespace

document::document(double value) : kind{value_kind::number}, text{json(value).dump()} {
    if (text == "null") *this = document{};
}

std::string print_json(const document& value) { return print_json(value, 0); }

std::string print_json(const document& value, std::size_t indent) {
    printer printing{indent};
    printing.print(value);
    return printing.take();
}

} // namespace vgpuformats
