// Calls as programs of older headers make them, which know an answer by its first size. Later headers hand the size
// over.
#define VGA_SYMBOLS_ONLY
#include <cstddef>

#include "vgpualloc/c_api.h"

namespace {

/// The size of an answer in the header that had these symbols.
constexpr std::size_t first_answer_size = 48;
static_assert(first_answer_size <= sizeof(vga_answer));

} // namespace

extern "C" {

VGA_API vga_status vga_evaluate(vga_cluster* cluster, const char* uid, uint32_t flags, vga_answer* answers,
                                size_t capacity, size_t* count, vga_text* why) {
    return vga_evaluate_sized(cluster, uid, flags, answers, first_answer_size, capacity, count, why);
}

VGA_API vga_status vga_ask_node(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                                vga_text* why) {
    return vga_ask_without_sized(cluster, uid, node, nullptr, 0, answer, first_answer_size, why);
}

VGA_API vga_status vga_ask_without(vga_cluster* cluster, const char* uid, uint32_t node, const char* const* pods,
                                   size_t pod_count, vga_answer* answer, vga_text* why) {
    return vga_ask_without_sized(cluster, uid, node, pods, pod_count, answer, first_answer_size, why);
}

VGA_API vga_status vga_evaluate_empty(vga_cluster* cluster, const char* uid, vga_answer* answers, size_t capacity,
                                      size_t* count, vga_text* why) {
    return vga_evaluate_empty_sized(cluster, uid, answers, first_answer_size, capacity, count, why);
}

VGA_API vga_status vga_reserve(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                               vga_text* why) {
    return vga_reserve_sized(cluster, uid, node, answer, first_answer_size, why);
}

} // extern "C"
