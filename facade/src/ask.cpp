// The C interface: everything that is thrown ends here.
#include "vgpufacade/ask.h"

#include <exception>
#include <memory>
#include <utility>

#include "vgpufacade/ask.hpp"

struct vgpu_reply {
    vgpufacade::reply_texts texts;
};

namespace {

std::string_view text_or_empty(const char* text) { return text == nullptr ? std::string_view{} : text; }

/// What of a question is NULL and may not be; null: nothing.
const char* missing_in(const vgpu_question& question) {
    if (question.options == nullptr && question.option_count > 0) return "options";
    if (question.texts == nullptr && question.text_count > 0) return "texts";
    for (std::size_t i = 0; i < question.text_count; ++i) {
        if (question.texts[i].data == nullptr && question.texts[i].size > 0) return "texts[].data";
    }
    return nullptr;
}

vgpufacade::reply_texts answered(const vgpu_question& question) {
    if (const char* const missing = missing_in(question)) {
        vgpufacade::reply_texts reply;
        reply.fail(bad_value(vgpualloc::error_code::missing, missing, "", "a pointer that is not NULL").at("question"));
        return reply;
    }
    vgpuformats::memory_source source;
    for (std::size_t i = 0; i < question.text_count; ++i) {
        const vgpu_named_text& text = question.texts[i];
        source.add(std::string{text_or_empty(text.name)}, std::string_view{text.data, text.size});
    }
    vgpufacade::named_options options;
    for (std::size_t i = 0; i < question.option_count; ++i) {
        options.emplace_back(text_or_empty(question.options[i].name), text_or_empty(question.options[i].value));
    }
    std::function<bool()> stop;
    if (question.stop != nullptr) stop = [&question] { return question.stop(question.stop_context) != 0; };
    return vgpufacade::answer_to(text_or_empty(question.command), options, source, stop);
}

const char* give(const std::string& text, std::size_t* size) {
    if (size != nullptr) *size = text.size();
    return text.c_str();
}

} // namespace

extern "C" {

unsigned vgpu_ask_version(void) { return VGPU_ASK_VERSION; }

vgpu_reply* vgpu_ask(const vgpu_question* question) {
    if (question == nullptr || question->struct_size != sizeof(vgpu_question)) return nullptr;
    try {
        auto reply = std::make_unique<vgpu_reply>();
        try {
            reply->texts = answered(*question);
        } catch (const std::exception& failure) {
            reply->texts = {};
            reply->texts.code = vgpufacade::code_failed;
            reply->texts.add_line(std::string{"internal error: "} + failure.what());
        }
        return reply.release();
    } catch (...) {
        return nullptr;
    }
}

void vgpu_reply_free(vgpu_reply* reply) { const std::unique_ptr<vgpu_reply> gone{reply}; }

int vgpu_reply_code(const vgpu_reply* reply) { return reply->texts.code; }
const char* vgpu_reply_errors(const vgpu_reply* reply, size_t* size) { return give(reply->texts.errors, size); }
const char* vgpu_reply_text(const vgpu_reply* reply, size_t* size) { return give(reply->texts.text, size); }
const char* vgpu_reply_json(const vgpu_reply* reply, size_t* size) { return give(reply->texts.json, size); }
size_t vgpu_reply_file_count(const vgpu_reply* reply) { return reply->texts.files.size(); }

const char* vgpu_reply_file_name(const vgpu_reply* reply, size_t number) {
    return number < reply->texts.files.size() ? reply->texts.files[number].first.c_str() : nullptr;
}

const char* vgpu_reply_file(const vgpu_reply* reply, size_t number, size_t* size) {
    return number < reply->texts.files.size() ? give(reply->texts.files[number].second, size) : nullptr;
}

} // extern "C"
