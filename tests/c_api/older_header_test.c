/* A program that was compiled with an older header goes on with this library: it knows answers of their first size, and
 * calls the symbols that were there then. */
#include "check.h"

static char words[512];
static vga_text why = {words, sizeof words, 0};

/* An answer, and what lies behind it, which the library must not touch. */
struct guarded_answer {
    vga_answer answer;
    unsigned char beyond[16];
};

static void check_untouched(const unsigned char* beyond) {
    for (size_t i = 0; i < 16; ++i) CHECK(beyond[i] == 0xa5);
}

int main(void) {
    vga_cluster* cluster = NULL;
    vga_options options;
    vga_answer answers[3];
    struct guarded_answer guarded;
    unsigned char* const after_two = (unsigned char*)&answers[2];
    size_t count = 0;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.policy = "binpack";
    CHECK(vga_abi_version() == VGA_ABI_VERSION);
    CHECK_OK(vga_cluster_new(&options, &cluster, &why));
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0") CARD("GPU-a1"))));
    CHECK_OK(tell(cluster, NODE("b", CARD("GPU-b0"))));
    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));

    memset(answers, 0xa5, sizeof answers);
    CHECK_OK(vga_evaluate(cluster, "u1", VGA_WITH_NUMBERS, answers, 2, &count, &why));
    CHECK(count == 2 && answers[0].reason == VGA_FITS && answers[1].reason == VGA_FITS);
    check_untouched(after_two);
    memset(answers, 0xa5, sizeof answers);
    CHECK_OK(vga_evaluate_empty(cluster, "u1", answers, 2, &count, &why));
    CHECK(count == 2 && answers[0].reason == VGA_FITS && answers[1].rank > answers[0].rank);
    check_untouched(after_two);

    memset(&guarded, 0xa5, sizeof guarded);
    CHECK_OK(vga_ask_node(cluster, "u1", 1, &guarded.answer, &why));
    CHECK(guarded.answer.reason == VGA_FITS);
    check_untouched(guarded.beyond);
    CHECK_OK(vga_ask_without(cluster, "u1", 1, NULL, 0, &guarded.answer, &why));
    CHECK_OK(vga_reserve(cluster, "u1", 1, &guarded.answer, &why));
    CHECK(guarded.answer.reason == VGA_FITS);
    check_untouched(guarded.beyond);
    CHECK(vga_reserve(cluster, "u1", 1, &guarded.answer, &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_commit(cluster, "u1", &why));
    vga_cluster_free(cluster);
    if (failed_checks > 0) fprintf(stderr, "%d checks failed\n", failed_checks);
    return failed_checks == 0 ? 0 : 1;
}
