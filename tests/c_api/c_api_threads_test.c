/* Sixteen threads ask, as Volcano's predicates do, while two book and take back, one tells of objects, and two read
 * explanations and figures, which are written when others have their turn. What is told must be whole, and at the end
 * nothing may be booked. scripts/test.sh runs it under ThreadSanitizer as well. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { askers = 16, bookers = 2, readers = 2, threads_max = askers + bookers + 1 + readers, rounds = 200, nodes = 8 };

static vga_cluster* cluster;

static int is_whole(const vga_answer* answer) {
    return answer->reason < vga_reason_count() && (answer->reason == VGA_FITS || answer->wanted >= answer->available);
}

static void* ask(void* wrong) {
    int round = 0;
    for (round = 0; round < rounds; ++round) {
        vga_answer answers[nodes + 4];
        vga_answer answer;
        size_t count = 0;
        size_t n = 0;
        if (vga_evaluate(cluster, "waits", VGA_WITH_NUMBERS, answers, nodes + 4, &count, NULL) != VGA_OK)
            *(int*)wrong += 1;
        for (n = 0; n < count; ++n) *(int*)wrong += !is_whole(&answers[n]);
        if (vga_evaluate_empty(cluster, "waits", answers, nodes + 4, &count, NULL) != VGA_OK) *(int*)wrong += 1;
        for (n = 0; n < nodes; ++n) *(int*)wrong += answers[n].reason != VGA_FITS;
        if (vga_ask_node(cluster, "waits", (uint32_t)(round % nodes), &answer, NULL) != VGA_OK) *(int*)wrong += 1;
        *(int*)wrong += !is_whole(&answer);
    }
    return NULL;
}

static void* book(void* number) {
    const char* const uid = *(int*)number == 0 ? "first" : "second";
    int round = 0;
    *(int*)number = 0;
    for (round = 0; round < rounds; ++round) {
        vga_answer answer;
        if (vga_reserve(cluster, uid, (uint32_t)(round % nodes), &answer, NULL) != VGA_OK) *(int*)number += 1;
        if (answer.reason == VGA_FITS && vga_rollback(cluster, uid, NULL) != VGA_OK) *(int*)number += 1;
    }
    return NULL;
}

static void* tell_of_objects(void* wrong) {
    int round = 0;
    for (round = 0; round < rounds; ++round) {
        if (tell(cluster, POD("comes", "comes", "1000")) != VGA_OK) *(int*)wrong += 1;
        if (tell(cluster, NODE("flaps", CARD("GPU-flaps"))) != VGA_OK) *(int*)wrong += 1;
        if (vga_remove_pod(cluster, "comes", NULL) != VGA_OK) *(int*)wrong += 1;
        if (vga_remove_node(cluster, "flaps", NULL) != VGA_OK) *(int*)wrong += 1;
    }
    return NULL;
}

static void* read_texts(void* wrong) {
    const size_t room = 1u << 20;
    char* const text = malloc(room);
    int round = 0;
    CHECK(text != NULL);
    for (round = 0; round < rounds && text != NULL; ++round) {
        vga_text json = {text, room, 0};
        const vga_status status =
            round % 2 == 0 ? vga_explain(cluster, "waits", &json, NULL) : vga_metrics(cluster, &json);
        if (status != VGA_OK || json.length < 100 || text[0] != '{' || strstr(text, "GPU-n7-1") == NULL) {
            *(int*)wrong += 1;
        }
        uint32_t limit = 0;
        uint64_t version = 0;
        if (vga_node_names(cluster, &limit, &version, &json) != VGA_OK || limit < nodes) *(int*)wrong += 1;
        if (json.length < 3 * nodes || strcmp(text + 3 * (nodes - 1), "n7") != 0) *(int*)wrong += 1;
    }
    free(text);
    return NULL;
}

static void* (*work_of(int thread))(void*) {
    if (thread < askers) return ask;
    if (thread < askers + bookers) return book;
    return thread < askers + bookers + readers ? read_texts : tell_of_objects;
}

int main(void) {
    pthread_t threads[threads_max];
    int wrong[threads_max] = {0};
    int i = 0;
    vga_pod_state state = VGA_POD_UNKNOWN;
    CHECK_OK(vga_cluster_new(NULL, &cluster, NULL));
    for (i = 0; i < nodes; ++i) {
        char text[sizeof NODE("n0", CARD("GPU-n0-0") CARD("GPU-n0-1")) + 16];
        snprintf(text, sizeof text, NODE("n%d", CARD("GPU-n%d-0") CARD("GPU-n%d-1")), i, i, i);
        CHECK_OK(tell(cluster, text));
    }
    CHECK_OK(tell(cluster, POD("waits", "waits", "30000")));
    CHECK_OK(tell(cluster, POD("first", "first", "20000")));
    CHECK_OK(tell(cluster, POD("second", "second", "30000")));
    wrong[askers + 1] = 1;
    for (i = 0; i < threads_max; ++i) CHECK(pthread_create(&threads[i], NULL, work_of(i), &wrong[i]) == 0);
    for (i = 0; i < threads_max; ++i) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(wrong[i] == 0);
    }
    CHECK(vga_get_pod(cluster, "first", &state, NULL) == VGA_OK && state == VGA_POD_WAITING);
    CHECK(vga_get_pod(cluster, "second", &state, NULL) == VGA_OK && state == VGA_POD_WAITING);
    vga_cluster_free(cluster);
    return failed_checks > 0;
}
