/* The C interface from C: the life of a pod, every status, buffers, and misuse that must not end the program. */
#include <stdlib.h>

#include "check.h"

static char words[512];
static vga_text why = {words, sizeof words, 0};

static vga_cluster* new_cluster(void) {
    vga_cluster* cluster = NULL;
    vga_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.policy = "binpack";
    CHECK_OK(vga_cluster_new(&options, &cluster, &why));
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0") CARD("GPU-a1"))));
    CHECK_OK(tell(cluster, NODE("b", CARD("GPU-b0"))));
    return cluster;
}

static uint32_t number_of(vga_cluster* cluster, const char* name) {
    uint32_t node = 99;
    CHECK_OK(vga_find_node(cluster, name, &node, &why));
    return node;
}

static void a_suspended_pod_whose_node_is_gone(void) {
    vga_cluster* cluster = new_cluster();
    vga_answer answer;
    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));
    CHECK_OK(vga_reserve(cluster, "u1", number_of(cluster, "a"), &answer, &why));
    CHECK_OK(vga_commit(cluster, "u1", &why));
    CHECK_OK(vga_suspend(cluster, "u1", &why));
    CHECK_OK(vga_remove_node(cluster, "a", &why));
    CHECK(vga_resume(cluster, "u1", &why) == VGA_UNKNOWN_NODE);
    CHECK(strcmp(words, "the node of pod ns/p is gone") == 0);
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0"))));
    CHECK_OK(vga_resume(cluster, "u1", &why));
    vga_cluster_free(cluster);
}

/* It keeps what it has, until its node is gone and nobody knows the card any more. */
static void a_pod_whose_card_is_no_longer_registered(void) {
    vga_cluster* cluster = new_cluster();
    vga_answer answer;
    static char text[65536];
    vga_text json = {text, sizeof text, 0};
    CHECK_OK(tell(cluster,
                  POD_SAYING("p", "u1", "1000", ",\"annotations\":{\"volcano.sh/vgpu-use-gpuuuid\":\"GPU-a1\"}", "")));
    CHECK_OK(tell(cluster, POD("q", "u2", "50000")));
    CHECK_OK(vga_reserve(cluster, "u1", number_of(cluster, "a"), &answer, &why));
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0"))));
    CHECK_OK(vga_annotations(cluster, "u1", 17, &json, &why));
    CHECK(strstr(text, "GPU-a1,NVIDIA,1000,0:") != NULL);
    CHECK_OK(vga_explain(cluster, "u2", &json, &why));
    CHECK(strstr(text, "\"GPU-a1\"") != NULL);
    CHECK_OK(vga_remove_node(cluster, "a", &why));
    CHECK(vga_annotations(cluster, "u1", 17, &json, &why) == VGA_BAD_INPUT);
    CHECK(strcmp(words, "node a: device: got '1', expected one that the node registers still; it registers 0") == 0);
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0"))));
    CHECK_OK(vga_explain(cluster, "u2", &json, &why));
    CHECK(strstr(text, "\"GPU-a1\"") != NULL);
    CHECK_OK(vga_rollback(cluster, "u1", &why));
    vga_cluster_free(cluster);
}

static void two_clusters_are_swapped(void) {
    vga_cluster* cluster = new_cluster();
    vga_cluster* other = NULL;
    uint32_t limit = 0;
    uint64_t version = 0;
    uint64_t later = 0;
    vga_pod_state state = VGA_POD_UNKNOWN;
    CHECK_OK(vga_cluster_new(NULL, &other, &why));
    CHECK_OK(tell(other, NODE("c", CARD("GPU-c0"))));
    CHECK_OK(tell(other, POD("p", "u1", "30000")));
    CHECK_OK(vga_nodes_version(cluster, &limit, &version));
    CHECK_OK(vga_begin_trial(other, &why));
    CHECK(vga_swap(cluster, other, &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_end_trial(other, 0, &why));
    CHECK(vga_swap(cluster, cluster, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_swap(cluster, NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_swap(NULL, other, &why) == VGA_BAD_ARGUMENT);
    CHECK_OK(vga_swap(cluster, other, &why));
    CHECK_OK(vga_nodes_version(cluster, &limit, &later));
    CHECK(limit == 1 && later > version);
    CHECK(number_of(cluster, "c") == 0);
    CHECK_OK(vga_get_pod(cluster, "u1", &state, NULL));
    CHECK(state == VGA_POD_WAITING);
    CHECK_OK(vga_get_pod(other, "u1", &state, NULL));
    CHECK(state == VGA_POD_UNKNOWN);
    vga_cluster_free(other);
    CHECK_OK(vga_remove_pod(cluster, "u1", &why));
    vga_cluster_free(cluster);
}

static void the_life_of_a_pod(void) {
    vga_cluster* cluster = new_cluster();
    const uint32_t a = number_of(cluster, "a");
    const uint32_t b = number_of(cluster, "b");
    vga_answer answers[8];
    vga_answer answer;
    size_t count = 0;
    uint32_t node = 0;
    int found = 0;
    vga_pod_state state = VGA_POD_UNKNOWN;
    char text[4096];
    vga_text json = {text, sizeof text, 0};
    const uint32_t both[2] = {a, b};

    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));
    CHECK_OK(tell(cluster, POD_SAYING("r", "u2", "20000",
                                      ",\"annotations\":{\"volcano.sh/vgpu-ids-new\":\"GPU-b0,NVIDIA,20000,0:\"}",
                                      "\"nodeName\":\"b\",")));
    CHECK_OK(vga_evaluate(cluster, "u1", VGA_WITH_NUMBERS, answers, 8, &count, &why));
    CHECK(count == 2);
    CHECK(answers[a].reason == VGA_FITS);
    CHECK(strcmp(vga_reason_name(answers[b].reason), "insufficient_device_memory") == 0);
    CHECK(answers[b].wanted == 30000 && answers[b].available == 20960 && strcmp(answers[b].unit, "MiB") == 0);
    CHECK_OK(vga_choose(cluster, "u1", both, 2, &node, &found, &why));
    CHECK(found == 1 && node == a);
    CHECK_OK(vga_choose(cluster, "u1", &b, 1, &node, &found, &why));
    CHECK(found == 0);

    const char* const without[] = {"u2", "nobody"};
    CHECK_OK(vga_ask_without(cluster, "u1", b, without, 2, &answer, &why));
    CHECK(answer.reason == VGA_FITS);
    CHECK_OK(vga_ask_node(cluster, "u1", b, &answer, &why));
    CHECK(answer.reason != VGA_FITS);

    CHECK_OK(vga_reserve(cluster, "u1", b, &answer, &why));
    CHECK(answer.reason != VGA_FITS);
    CHECK_OK(vga_get_pod(cluster, "u1", &state, NULL));
    CHECK(state == VGA_POD_WAITING);
    CHECK_OK(vga_reserve(cluster, "u1", a, &answer, &why));
    CHECK(answer.reason == VGA_FITS);
    CHECK_OK(vga_get_pod(cluster, "u1", &state, &node));
    CHECK(state == VGA_POD_RESERVED && node == a);
    CHECK_OK(vga_annotations(cluster, "u1", 1700000000000000000, &json, &why));
    CHECK(strstr(text, "\"volcano.sh/vgpu-ids-new\":\"GPU-a0,NVIDIA,30000,0:\"") != NULL ||
          strstr(text, "\"volcano.sh/vgpu-ids-new\": \"GPU-a0,NVIDIA,30000,0:\"") != NULL);
    int wants = 0;
    uint64_t reading = 0;
    uint64_t reading_again = 0;
    CHECK_OK(vga_reading_version(cluster, &reading));
    CHECK_OK(vga_reading_version(cluster, &reading_again));
    CHECK(reading == reading_again);
    CHECK(vga_reading_version(cluster, NULL) == VGA_BAD_ARGUMENT);
    CHECK_OK(vga_reads_resource(cluster, "volcano.sh/vgpu-memory", &wants, &why));
    CHECK(wants == 1);
    CHECK_OK(vga_reads_resource(cluster, "rdma/hca", &wants, &why));
    CHECK(wants == 0);
    CHECK_OK(vga_wants_devices(cluster, "u1", &wants, &why));
    CHECK(wants == 1);
    CHECK(vga_wants_devices(cluster, "nobody", &wants, &why) == VGA_UNKNOWN_POD);
    const char* const plain = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"plain\",\"uid\":\"plain\"},"
                              "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}";
    CHECK_OK(vga_upsert(cluster, plain, strlen(plain), NULL, &why));
    CHECK_OK(vga_wants_devices(cluster, "plain", &wants, &why));
    CHECK(wants == 0);
    CHECK_OK(vga_commit(cluster, "u1", &why));
    CHECK_OK(vga_suspend(cluster, "u1", &why));
    CHECK_OK(vga_resume(cluster, "u1", &why));
    CHECK_OK(vga_release(cluster, "u1", &why));
    CHECK_OK(vga_reserve(cluster, "u1", a, &answer, &why));
    CHECK_OK(vga_rollback(cluster, "u1", &why));
    CHECK_OK(vga_begin_trial(cluster, &why));
    CHECK_OK(vga_reserve(cluster, "u1", a, &answer, &why));
    CHECK_OK(vga_end_trial(cluster, 0, &why));
    CHECK_OK(vga_get_pod(cluster, "u1", &state, NULL));
    CHECK(state == VGA_POD_WAITING);
    CHECK_OK(vga_remove_pod(cluster, "u1", &why));
    CHECK_OK(vga_remove_node(cluster, "a", &why));
    vga_cluster_free(cluster);
}

/* Names as a caller reads them: one behind the other, each with its NUL. */
static void all_names_at_once(void) {
    vga_cluster* cluster = new_cluster();
    char text[64];
    vga_text names = {text, sizeof text, 0};
    uint32_t limit = 0;
    uint32_t limit_again = 0;
    uint64_t version = 0;
    uint64_t version_again = 0;
    CHECK_OK(tell(cluster, NODE("long-name", CARD("GPU-c0"))));
    CHECK_OK(vga_node_names(cluster, &limit, &version, &names));
    CHECK(limit == 3 && names.length == 14 && memcmp(text, "a\0b\0long-name\0", 15) == 0);
    CHECK_OK(vga_nodes_version(cluster, &limit_again, &version_again));
    CHECK(limit == limit_again && version == version_again);
    CHECK_OK(vga_remove_node(cluster, "b", &why));
    CHECK_OK(vga_node_names(cluster, &limit, &version_again, &names));
    CHECK(limit == 3 && version_again > version && names.length == 13 && memcmp(text, "a\0\0long-name\0", 14) == 0);
    names.capacity = 13;
    CHECK(vga_node_names(cluster, &limit, &version, &names) == VGA_TOO_SMALL && names.length == 13);
    names.capacity = 14;
    CHECK_OK(vga_node_names(cluster, &limit, &version, &names));
    CHECK(vga_node_names(NULL, &limit, &version, &names) == VGA_BAD_ARGUMENT);
    CHECK(vga_node_names(cluster, NULL, &version, &names) == VGA_BAD_ARGUMENT);
    CHECK(vga_node_names(cluster, &limit, NULL, &names) == VGA_BAD_ARGUMENT);
    CHECK(vga_node_names(cluster, &limit, &version, NULL) == VGA_BAD_ARGUMENT);
    vga_cluster_free(cluster);
}

static void nodes_answer_as_if_nothing_were_booked(void) {
    vga_cluster* cluster = new_cluster();
    const uint32_t a = number_of(cluster, "a");
    const uint32_t b = number_of(cluster, "b");
    vga_answer answers[4];
    vga_answer answer;
    vga_pod_state state = VGA_POD_UNKNOWN;
    size_t count = 0;
    CHECK_OK(tell(cluster, NODE("gone", CARD("GPU-g0"))));
    CHECK_OK(vga_remove_node(cluster, "gone", &why));
    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));
    CHECK_OK(tell(cluster, POD("q", "u2", "50000")));
    CHECK_OK(tell(cluster, POD("r", "u3", "40000")));
    CHECK_OK(vga_reserve(cluster, "u3", b, &answer, &why));
    CHECK_OK(vga_ask_node(cluster, "u1", b, &answer, &why));
    CHECK(answer.reason != VGA_FITS);
    CHECK_OK(vga_evaluate_empty(cluster, "u1", answers, 4, &count, &why));
    CHECK(count == 3 && answers[a].reason == VGA_FITS && answers[b].reason == VGA_FITS);
    CHECK(answers[a].rank < answers[b].rank && strcmp(vga_reason_name(answers[2].reason), "node_gone") == 0);
    CHECK_OK(vga_evaluate_empty(cluster, "u2", answers, 4, &count, &why));
    CHECK(answers[a].wanted == 50000 && answers[a].available == 40960 && strcmp(answers[a].unit, "MiB") == 0);
    CHECK_OK(vga_get_pod(cluster, "u3", &state, NULL));
    CHECK(state == VGA_POD_RESERVED);
    CHECK(vga_evaluate_empty(cluster, "u1", answers, 2, &count, &why) == VGA_TOO_SMALL && count == 3);
    CHECK(vga_evaluate_empty(cluster, "nobody", answers, 4, &count, &why) == VGA_UNKNOWN_POD);
    CHECK(vga_evaluate_empty(cluster, NULL, answers, 4, &count, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_evaluate_empty(cluster, "u1", answers, 4, NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_evaluate_empty(NULL, "u1", answers, 4, &count, &why) == VGA_BAD_ARGUMENT);
    CHECK_OK(tell(cluster, POD("n", "u4", "-5")));
    CHECK(vga_evaluate_empty(cluster, "u4", answers, 4, &count, &why) == VGA_BAD_INPUT);
    vga_cluster_free(cluster);
}

static void misuse_is_a_status(void) {
    vga_cluster* cluster = new_cluster();
    vga_cluster* none = cluster;
    vga_answer answer;
    size_t count = 0;
    vga_pod_state state = VGA_POD_WAITING;
    vga_text none_written = {NULL, 0, 0};
    const uint32_t a = number_of(cluster, "a");
    vga_options options;
    memset(&options, 0, sizeof options);

    CHECK(vga_cluster_new(&options, &none, &why) == VGA_BAD_ARGUMENT && none == NULL); /* struct_size */
    options.struct_size = SIZE_MAX;
    CHECK(vga_cluster_new(&options, &none, &why) == VGA_BAD_ARGUMENT);
    options.struct_size = 1000;
    CHECK(vga_configure(cluster, &options, &why) == VGA_BAD_ARGUMENT);
    CHECK(strstr(words, "vga_options: struct_size: got '1000', expected ") != NULL);
    options.struct_size = sizeof options;
    options.policy = "";
    CHECK(vga_configure(cluster, &options, &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "policy: got '\"\"', expected one of best_fit") != NULL && strstr(words, "random") == NULL);
    options.policy = "random";
    CHECK(vga_configure(cluster, &options, &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "a policy that draws nothing") != NULL);
    options.policy = NULL;
    options.device_config = "vgpu: [";
    CHECK(vga_configure(cluster, &options, &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "device_config:1") != NULL);
    CHECK(vga_cluster_new(NULL, NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_upsert(cluster, "{", 1, NULL, &why) == VGA_BAD_INPUT);
    CHECK(vga_upsert(cluster, NULL, 0, NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_upsert(NULL, "{}", 2, NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(tell(cluster, LIST(POD("l", "u8", "1000"), "null")) == VGA_BAD_INPUT);
    CHECK(tell(cluster, LIST(POD("l", "u8", "1000"), "5")) == VGA_BAD_INPUT);
    CHECK(tell(cluster, "{}") == VGA_BAD_INPUT);
    CHECK(vga_get_pod(cluster, "u8", &state, NULL) == VGA_OK && state == VGA_POD_UNKNOWN); /* nothing has changed */
    CHECK(vga_remove_pod(cluster, "u1", &why) == VGA_UNKNOWN_POD);
    CHECK(vga_remove_pod(cluster, NULL, NULL) == VGA_BAD_ARGUMENT);
    CHECK(vga_remove_node(cluster, "z", &why) == VGA_UNKNOWN_NODE);
    CHECK(vga_remove_config_map(cluster, "z", &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "<namespace>/<name>") != NULL);
    CHECK(vga_commit(cluster, "u1", &why) == VGA_UNKNOWN_POD);
    CHECK(vga_evaluate(cluster, "u1", 0, NULL, 0, &count, &why) == VGA_TOO_SMALL && count == 2);
    CHECK(vga_evaluate(cluster, "u1", 2, NULL, 0, &count, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_ask_node(cluster, "u1", a, &answer, &why) == VGA_UNKNOWN_POD);
    CHECK(vga_get_pod(cluster, "u1", &state, NULL) == VGA_OK && state == VGA_POD_UNKNOWN);
    CHECK(vga_explain(cluster, "u1", NULL, &why) == VGA_BAD_ARGUMENT);

    CHECK_OK(tell(cluster, POD_SAYING("p", "u1", "1000", ",\"creationTimestamp\":\"2026-01-02T00:00:00Z\"", "")));
    CHECK(tell(cluster, POD_SAYING("p", "u0", "1000", ",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"", "")) ==
          VGA_OUTDATED);
    CHECK(vga_reserve(cluster, "u1", 77, &answer, &why) == VGA_UNKNOWN_NODE);
    CHECK(vga_commit(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK(vga_rollback(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK(vga_release(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK(vga_suspend(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK(vga_resume(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_reserve(cluster, "u1", a, &answer, &why));
    CHECK(vga_annotations(cluster, "u1", -1, &none_written, &why) == VGA_BAD_ARGUMENT);
    CHECK(strstr(words, "unix_ns: got '-1'") != NULL && none_written.length == 0);
    CHECK(vga_reserve(cluster, "u1", a, &answer, &why) == VGA_WRONG_STATE);
    CHECK(strstr(words, "ns/p") != NULL);
    CHECK(vga_end_trial(cluster, 0, &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_begin_trial(cluster, &why));
    CHECK(tell(cluster, POD("q", "u2", "1000")) == VGA_WRONG_STATE);
    CHECK(vga_remove_pod(cluster, "u1", &why) == VGA_WRONG_STATE);
    CHECK(vga_configure(cluster, NULL, &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_end_trial(cluster, 1, &why));
    CHECK_OK(tell(cluster, POD("n", "u3", "-5")));
    CHECK(vga_reserve(cluster, "u3", a, &answer, &why) == VGA_BAD_INPUT);
    CHECK_OK(vga_remove_node(cluster, "a", &why));
    CHECK(vga_ask_node(cluster, "u1", a, &answer, &why) == VGA_UNKNOWN_NODE);
    vga_cluster_free(cluster);
    vga_cluster_free(NULL);
}

static void buffers_are_the_callers(void) {
    vga_cluster* cluster = new_cluster();
    vga_upserted done;
    uint32_t limit = 0;
    uint64_t version = 0;
    uint64_t later = 0;
    char small[8];
    char* large = NULL;
    vga_text text = {small, sizeof small, 0};
    vga_text none = {NULL, 0, 0};
    const char* two = NODE("c", CARD("GPU-c0")) "\n" POD("p", "u1", "1000");

    CHECK(vga_nodes_version(cluster, &limit, &version) == VGA_OK && limit == 2);
    memset(&done, 0, sizeof done);
    CHECK(vga_upsert(cluster, two, strlen(two), &done, &why) == VGA_BAD_ARGUMENT);
    done.struct_size = sizeof done;
    CHECK_OK(vga_upsert(cluster, two, strlen(two), &done, &why));
    CHECK(done.objects == 2 && done.changed == 2 && done.outdated == 0);
    CHECK_OK(vga_upsert(cluster, two, strlen(two), &done, &why));
    CHECK(done.objects == 2 && done.changed == 0);
    CHECK(vga_nodes_version(cluster, &limit, &later) == VGA_OK && limit == 3 && later > version);
    CHECK_OK(tell(cluster, NODE("c", CARD("GPU-c0") CARD("GPU-c1"))));
    CHECK(vga_nodes_version(cluster, &limit, &version) == VGA_OK && limit == 3 && later == version);
    CHECK_OK(vga_node_name(cluster, 2, &text));
    CHECK(strcmp(small, "c") == 0 && text.length == 1);
    CHECK(vga_node_name(cluster, 3, &text) == VGA_UNKNOWN_NODE);
    CHECK(vga_node_name(cluster, 2, NULL) == VGA_BAD_ARGUMENT);

    /* A reason is cut, and its length told; a result is whole or not there. */
    CHECK(vga_remove_pod(cluster, "a-pod-that-is-not-there", &text) == VGA_UNKNOWN_POD);
    CHECK(text.length > sizeof small && strlen(small) == sizeof small - 1);
    CHECK(vga_remove_pod(cluster, "a-pod-that-is-not-there", &none) == VGA_UNKNOWN_POD && none.length > 0);
    small[0] = '#';
    CHECK(vga_metrics(cluster, &text) == VGA_TOO_SMALL && small[0] == '#');
    large = malloc(text.length + 1);
    CHECK(large != NULL);
    text.data = large;
    text.capacity = text.length + 1;
    CHECK_OK(vga_metrics(cluster, &text));
    CHECK(strlen(large) == text.length && strstr(large, "GPU-c0") != NULL);
    free(large);
    CHECK(vga_explain(cluster, "u1", &none, &why) == VGA_TOO_SMALL && none.length > 100);
    CHECK(vga_warnings(cluster, &none) == VGA_TOO_SMALL && none.length == 2);
    vga_cluster_free(cluster);
}

/* Objects that are told one by one have no lines that anybody could look up. */
static void what_is_wrong_is_told_by_the_name_of_its_object(void) {
    vga_cluster* cluster = new_cluster();
    static char text[65536];
    vga_text json = {text, sizeof text, 0};
    CHECK_OK(tell(cluster, POD("w1", "u1", "-1")));
    CHECK_OK(tell(cluster, POD("w2", "u2", "1000")));
    CHECK_OK(tell(cluster, "{\"kind\":\"Node\",\"metadata\":{\"name\":\"odd\"},\"status\":{\"allocatable\":3}}"));
    CHECK_OK(vga_warnings(cluster, &json));
    CHECK(strstr(text, "\"pod ns/w1: spec.containers[0].resources.limits.") != NULL &&
          strstr(text, "got '-1'") != NULL);
    CHECK(strstr(text, "\"node odd: status.allocatable: got '3'") != NULL && strstr(text, "object:1") == NULL);
    CHECK_OK(vga_explain(cluster, "u2", &json, &why));
    CHECK(strstr(text, "\"place\": \"pod ns/w2\"") != NULL && strstr(text, "object:1") == NULL);
    vga_cluster_free(cluster);
}

static void names_are_there_for_every_number(void) {
    int status = 0;
    vga_reason reason = 0;
    CHECK(vga_abi_version() == VGA_ABI_VERSION);
    CHECK(strlen(vga_version()) > 0);
    for (status = VGA_OK; status <= VGA_INTERNAL; ++status) {
        CHECK(strncmp(vga_status_name((vga_status)status), "VGA_", 4) == 0);
    }
    CHECK(strcmp(vga_status_name((vga_status)-1), "unknown status") == 0);
    CHECK(strcmp(vga_reason_name(VGA_FITS), "") == 0);
    for (reason = 1; reason < vga_reason_count(); ++reason) CHECK(strlen(vga_reason_name(reason)) > 3);
    CHECK(strcmp(vga_reason_name(reason), "unknown reason") == 0);
}

int main(void) {
    the_life_of_a_pod();
    two_clusters_are_swapped();
    a_suspended_pod_whose_node_is_gone();
    a_pod_whose_card_is_no_longer_registered();
    all_names_at_once();
    nodes_answer_as_if_nothing_were_booked();
    misuse_is_a_status();
    buffers_are_the_callers();
    what_is_wrong_is_told_by_the_name_of_its_object();
    names_are_there_for_every_number();
    if (failed_checks > 0) fprintf(stderr, "%d checks failed\n", failed_checks);
    return failed_checks > 0;
}
