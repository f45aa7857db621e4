// Columns as an Arrow stream of one chunk.
#include <array>
#include <cerrno>
#include <string>

#include "arrow_interface.hpp"
#include "frame.hpp"

namespace vgpupython {

namespace {

using vgpufacade::coded_column;
using vgpufacade::column;

/// What a schema points to.
struct schema_parts {
    std::string name;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> pointers;
    ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
    for (std::int64_t i = 0; i < schema->n_children; ++i) {
        if (schema->children[i]->release != nullptr) schema->children[i]->release(schema->children[i]);
    }
    if (schema->dictionary != nullptr && schema->dictionary->release != nullptr) {
        schema->dictionary->release(schema->dictionary);
    }
    delete static_cast<schema_parts*>(schema->private_data);
    schema->release = nullptr;
}

constexpr std::int64_t flag_nullable = 2;

ArrowSchema schema_of(const char* format, std::string name, std::size_t children) {
    auto* const parts = new schema_parts{.name = std::move(name), .children = {}, .pointers = {}};
    parts->children.resize(children);
    for (ArrowSchema& child : parts->children) parts->pointers.push_back(&child);
    ArrowSchema schema{};
    schema.format = format;
    schema.name = parts->name.c_str();
    schema.flags = flag_nullable;
    schema.n_children = static_cast<std::int64_t>(children);
    schema.children = parts->pointers.data();
    schema.release = release_schema;
    schema.private_data = parts;
    return schema;
}

ArrowSchema schema_of(const column& described) {
    constexpr const char* formats[] = {"l", "g", "b", "i"};
    ArrowSchema schema = schema_of(formats[described.values.index()], described.name, 0);
    if (std::holds_alternative<coded_column>(described.values)) {
        auto* const parts = static_cast<schema_parts*>(schema.private_data);
        parts->dictionary = schema_of("u", "", 0);
        schema.dictionary = &parts->dictionary;
    }
    return schema;
}

/// What an array points to, and a share of the table that its numbers are in.
struct array_parts {
    shared_table table;
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> pointers;
    ArrowArray dictionary{};
    std::array<const void*, 3> buffers{};
    std::vector<std::uint8_t> bits;
    std::vector<std::int32_t> offsets;
    std::string bytes;
};

void release_array(ArrowArray* array) {
    for (std::int64_t i = 0; i < array->n_children; ++i) {
        if (array->children[i]->release != nullptr) array->children[i]->release(array->children[i]);
    }
    if (array->dictionary != nullptr && array->dictionary->release != nullptr) {
        array->dictionary->release(array->dictionary);
    }
    delete static_cast<array_parts*>(array->private_data);
    array->release = nullptr;
}

ArrowArray array_of(shared_table table, std::size_t length, std::int64_t buffers, std::size_t children) {
    auto* const parts = new array_parts{.table = std::move(table),
                                        .children = std::vector<ArrowArray>(children),
                                        .pointers = {},
                                        .bits = {},
                                        .offsets = {},
                                        .bytes = {}};
    for (ArrowArray& child : parts->children) parts->pointers.push_back(&child);
    ArrowArray array{};
    array.length = static_cast<std::int64_t>(length);
    array.n_buffers = buffers;
    array.n_children = static_cast<std::int64_t>(children);
    array.buffers = parts->buffers.data();
    array.children = parts->pointers.data();
    array.release = release_array;
    array.private_data = parts;
    return array;
}

array_parts& parts_of(const ArrowArray& array) { return *static_cast<array_parts*>(array.private_data); }

ArrowArray array_of(const std::vector<std::string>& texts) {
    ArrowArray array = array_of(nullptr, texts.size(), 3, 0);
    array_parts& parts = parts_of(array);
    parts.offsets.push_back(0);
    for (const std::string& text : texts) {
        parts.bytes += text;
        parts.offsets.push_back(static_cast<std::int32_t>(parts.bytes.size()));
    }
    parts.buffers = {nullptr, parts.offsets.data(), parts.bytes.data()};
    return array;
}

ArrowArray array_of(const shared_table& table, const column& described) {
    ArrowArray array = array_of(table, described.size(), 2, 0);
    array_parts& parts = parts_of(array);
    if (const auto* const truths = std::get_if<std::vector<std::uint8_t>>(&described.values)) {
        parts.bits.resize((truths->size() + 7) / 8 + 1);
        for (std::size_t i = 0; i < truths->size(); ++i) {
            parts.bits[i / 8] = static_cast<std::uint8_t>(parts.bits[i / 8] | (((*truths)[i] & 1U) << (i % 8)));
        }
        parts.buffers[1] = parts.bits.data();
    } else if (const auto* const coded = std::get_if<coded_column>(&described.values)) {
        parts.buffers[1] = coded->codes.data();
        parts.dictionary = array_of(coded->dictionary);
        array.dictionary = &parts.dictionary;
    } else if (const auto* const wholes = std::get_if<std::vector<std::int64_t>>(&described.values)) {
        parts.buffers[1] = wholes->data();
    } else {
        parts.buffers[1] = std::get<std::vector<double>>(described.values).data();
    }
    return array;
}

struct stream_state {
    shared_table table;
    bool is_done = false;
};

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    const vgpufacade::table& table = *static_cast<stream_state*>(stream->private_data)->table;
    *schema = schema_of("+s", "", table.columns.size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) *schema->children[c] = schema_of(table.columns[c]);
    return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
    stream_state& state = *static_cast<stream_state*>(stream->private_data);
    *array = ArrowArray{};
    if (state.is_done) return 0;
    state.is_done = true;
    const vgpufacade::table& table = *state.table;
    *array = array_of(nullptr, table.rows(), 1, table.columns.size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        *array->children[c] = array_of(state.table, table.columns[c]);
    }
    return 0;
}

const char* get_last_error(ArrowArrayStream* /*stream*/) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
    delete static_cast<stream_state*>(stream->private_data);
    stream->release = nullptr;
}

} // namespace

nb::capsule frame::arrow_stream() const {
    auto* const stream = new ArrowArrayStream{.get_schema = get_schema,
                                              .get_next = get_next,
                                              .get_last_error = get_last_error,
                                              .release = release_stream,
                                              .private_data = new stream_state{.table = table_}};
    return nb::capsule{stream, "arrow_array_stream", [](void* pointer) noexcept {
                           auto* const unread = static_cast<ArrowArrayStream*>(pointer);
                           if (unread->release != nullptr) unread->release(unread);
                           delete unread;
                       }};
}

} // namespace vgpupython
