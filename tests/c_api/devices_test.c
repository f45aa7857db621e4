/* Who operates devices: their service, what they are cut into, and room for pods that wait. */
#include "check.h"

static char words[512];
static vga_text why = {words, sizeof words, 0};
static char text[16384];
static vga_text json = {text, sizeof text, 0};

#define MIG_NODE(name, uuid)                                                                                           \
    NODE(name, uuid ",7,40960,NVIDIA A100-SXM4-40GB,true,mig:" CARD("GPU-shared") CARD("GPU-shared2"))

static vga_cluster* new_cluster(void) {
    vga_cluster* cluster = NULL;
    CHECK_OK(vga_cluster_new(NULL, &cluster, &why));
    CHECK_OK(tell(cluster, MIG_NODE("a", "GPU-m")));
    return cluster;
}

static vga_service service_of(vga_cluster* cluster, const char* device) {
    vga_service service = VGA_FAILED;
    CHECK_OK(vga_get_service(cluster, 0, device, &service, &why));
    return service;
}

static void an_order_stays_whatever_objects_say(void) {
    vga_cluster* cluster = new_cluster();
    vga_answer answer;
    vga_service service = VGA_FAILED;
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-shared") CARD("GPU-shared2"))));
    CHECK(service_of(cluster, "GPU-shared") == VGA_IN_SERVICE);
    CHECK_OK(vga_set_service(cluster, 0, "GPU-shared", VGA_RECONFIGURING, &why));
    CHECK_OK(vga_set_service(cluster, 0, "GPU-shared2", VGA_DRAINING, &why));
    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));
    CHECK_OK(vga_ask_node(cluster, "u1", 0, &answer, &why));
    CHECK(strcmp(vga_reason_name(answer.reason), "device_reconfiguring") == 0 ||
          strcmp(vga_reason_name(answer.reason), "device_draining") == 0);
    CHECK_OK(
        tell(cluster, NODE("a", CARD("GPU-shared") "GPU-shared2,10,40960,NVIDIA A100-SXM4-40GB,false,hami-core:")));
    CHECK(service_of(cluster, "GPU-shared") == VGA_RECONFIGURING);
    CHECK_OK(vga_configure(cluster, NULL, &why));
    CHECK(service_of(cluster, "GPU-shared") == VGA_RECONFIGURING);
    CHECK(service_of(cluster, "GPU-shared2") == VGA_DRAINING);
    CHECK_OK(vga_set_service(cluster, 0, "GPU-shared", VGA_IN_SERVICE, &why));
    CHECK_OK(vga_set_service(cluster, 0, "GPU-shared2", VGA_IN_SERVICE, &why));
    CHECK(service_of(cluster, "GPU-shared2") == VGA_FAILED); /* as its node says */
    CHECK_OK(vga_ask_node(cluster, "u1", 0, &answer, &why));
    CHECK(answer.reason == VGA_FITS);
    CHECK_OK(vga_begin_trial(cluster, &why));
    CHECK_OK(vga_set_service(cluster, 0, "GPU-shared", VGA_DRAINING, &why));
    CHECK_OK(vga_end_trial(cluster, 0, &why));
    CHECK(service_of(cluster, "GPU-shared") == VGA_IN_SERVICE);

    CHECK(vga_set_service(cluster, 0, "GPU-none", VGA_DRAINING, &why) == VGA_BAD_INPUT);
    CHECK(strcmp(words, "device: got 'GPU-none', expected a device of the node") == 0);
    CHECK(vga_set_service(cluster, 0, "", VGA_DRAINING, &why) == VGA_BAD_INPUT);
    CHECK(vga_set_service(cluster, 7, "GPU-shared", VGA_DRAINING, &why) == VGA_UNKNOWN_NODE);
    CHECK(vga_set_service(cluster, 0, NULL, VGA_DRAINING, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_set_service(cluster, 0, "GPU-shared", 4, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_set_service(NULL, 0, "GPU-shared", VGA_DRAINING, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_get_service(cluster, 0, "GPU-shared", NULL, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_get_service(cluster, 0, "GPU-none", &service, &why) == VGA_BAD_INPUT);
    vga_cluster_free(cluster);
}

static vga_status plan(vga_cluster* cluster, const char* want, const char* group, vga_layout_step* steps, size_t* count,
                       int* found) {
    vga_layout_request request;
    memset(&request, 0, sizeof request);
    request.struct_size = sizeof request;
    request.want = want;
    request.group = group;
    return vga_plan_layout(cluster, 0, "GPU-m", &request, steps, sizeof *steps, 16, count, found, &why);
}

static vga_status note(vga_cluster* cluster, const vga_layout_step* step, int done) {
    return vga_note_step(cluster, 0, "GPU-m", step, sizeof *step, done, &why);
}

static void a_layout_follows_its_steps(void) {
    vga_cluster* cluster = new_cluster();
    const char* const instances[] = {"1g.5gb@0", "2g.10gb@4"};
    vga_layout_step steps[16];
    size_t count = 0;
    int found = 0;
    CHECK_OK(vga_note_layout(cluster, 0, "GPU-m", instances, 2, instances, 1, &why));
    CHECK_OK(plan(cluster, "3g.20gb", NULL, steps, &count, &found));
    CHECK(found == 1 && count == 2);
    CHECK(steps[0].kind == VGA_DESTROY_INSTANCE && strcmp(steps[0].profile, "2g.10gb") == 0 && steps[0].start == 4);
    CHECK(steps[1].kind == VGA_CREATE_INSTANCE && steps[1].profile_id == 9 && steps[1].size == 4);
    CHECK(note(cluster, &steps[1], 1) == VGA_BAD_INPUT); /* before the step that makes its place */
    CHECK(strstr(words, "create 3g.20gb@4") != NULL);
    CHECK_OK(note(cluster, &steps[0], 1));
    CHECK(note(cluster, &steps[0], 1) == VGA_BAD_INPUT); /* twice */
    CHECK_OK(note(cluster, &steps[1], 1));
    CHECK_OK(vga_layout(cluster, 0, "GPU-m", &json, &why));
    CHECK(strstr(text, "\"3g.20gb\"") != NULL && strstr(text, "\"2g.10gb\"") == NULL);
    CHECK_OK(plan(cluster, "3g.20gb", NULL, steps, &count, &found));
    CHECK(found == 1 && count == 0); /* it is there */
    CHECK_OK(plan(cluster, "7g.40gb", NULL, steps, &count, &found));
    CHECK(found == 0 && count == 0); /* a busy instance stays */
    CHECK_OK(plan(cluster, NULL, "1g.5gb=7", steps, &count, &found));
    CHECK(found == 0);
    CHECK_OK(vga_note_layout(cluster, 0, "GPU-m", instances, 2, NULL, 0, &why));
    CHECK_OK(plan(cluster, NULL, "1g.5gb=2,2g.10gb=1,3g.20gb=1", steps, &count, &found));
    CHECK(found == 1 && count > 0);
    CHECK_OK(note(cluster, &steps[0], 0));
    CHECK(note(cluster, &steps[1], 1) == VGA_WRONG_STATE);
    CHECK(plan(cluster, "3g.20gb", NULL, steps, &count, &found) == VGA_WRONG_STATE);
    CHECK(vga_layout(cluster, 0, "GPU-m", &json, &why) == VGA_WRONG_STATE);
    CHECK_OK(vga_note_layout(cluster, 0, "GPU-m", NULL, 0, NULL, 0, &why));
    CHECK_OK(vga_layout(cluster, 0, "GPU-m", &json, &why));
    CHECK(strcmp(text, "{\"instances\":[]}") == 0);
    vga_cluster_free(cluster);
}

/* What a scheduler gave a pod is made at its place, and no plan for another takes that. */
static void a_pod_that_was_given_an_instance_gets_it(void) {
    vga_cluster* cluster = NULL;
    vga_options options;
    vga_layout_step steps[16];
    vga_answer answer;
    size_t count = 0;
    int found = 0;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.device_config = "nvidia: {resourceCountName: volcano.sh/vgpu-number, resourceMemoryName: "
                            "volcano.sh/vgpu-memory, resourceCoreName: volcano.sh/vgpu-cores, knownMigGeometries: []}";
    CHECK_OK(vga_cluster_new(&options, &cluster, &why));
    CHECK_OK(tell(cluster, MIG_NODE("a", "GPU-m")));
    CHECK_OK(tell(cluster, POD_SAYING("p", "u1", "18000", ",\"annotations\":{\"volcano.sh/vgpu-mode\":\"mig\"}", "")));
    CHECK_OK(vga_reserve(cluster, "u1", 0, &answer, &why));
    CHECK(answer.reason == VGA_FITS);
    CHECK_OK(vga_layout(cluster, 0, "GPU-m", &json, &why));
    CHECK(strstr(text, "\"exists\":false,\"busy\":true") != NULL && strstr(text, "\"3g.20gb\"") != NULL);
    CHECK_OK(plan(cluster, "4g.20gb", NULL, steps, &count, &found));
    CHECK(found == 1 && steps[count - 1].start == 0 && strstr(text, "\"start\":4") != NULL);
    CHECK_OK(plan(cluster, "7g.40gb", NULL, steps, &count, &found));
    CHECK(found == 0);
    CHECK_OK(plan(cluster, NULL, "7g.40gb=1", steps, &count, &found));
    CHECK(found == 0);
    CHECK_OK(plan(cluster, "3g.20gb@4", NULL, steps, &count, &found));
    CHECK(found == 1 && count == 1 && steps[0].kind == VGA_CREATE_INSTANCE && steps[0].start == 4);
    CHECK_OK(note(cluster, &steps[0], 1));
    CHECK_OK(vga_layout(cluster, 0, "GPU-m", &json, &why));
    CHECK(strstr(text, "\"exists\":true,\"busy\":true") != NULL);
    steps[0].kind = VGA_DESTROY_INSTANCE;
    CHECK(note(cluster, &steps[0], 1) == VGA_BAD_INPUT && strstr(words, "not busy") != NULL);
    CHECK_OK(vga_rollback(cluster, "u1", &why));
    CHECK_OK(note(cluster, &steps[0], 1));
    vga_cluster_free(cluster);
}

static void misuse_of_layouts_is_a_status(void) {
    vga_cluster* cluster = new_cluster();
    const char* const odd[] = {"9g.1gb@0"};
    const char* const overlapping[] = {"3g.20gb@0", "2g.10gb@2"};
    const char* const one[] = {"1g.5gb@0"};
    const char* const null[] = {NULL};
    vga_layout_request request;
    vga_layout_step steps[16];
    vga_text small = {text, 3, 0};
    size_t count = 0;
    int found = 0;
    memset(&request, 0, sizeof request);
    memset(steps, 0, sizeof steps);
    CHECK(vga_note_layout(cluster, 0, "GPU-m", odd, 1, NULL, 0, &why) == VGA_BAD_INPUT);
    CHECK(vga_note_layout(cluster, 0, "GPU-m", overlapping, 2, NULL, 0, &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "memory slices that 3g.20gb@0 does not have") != NULL);
    CHECK(vga_note_layout(cluster, 0, "GPU-m", NULL, 0, one, 1, &why) == VGA_BAD_INPUT);
    CHECK(vga_note_layout(cluster, 0, "GPU-m", null, 1, NULL, 0, &why) == VGA_BAD_INPUT);
    CHECK(vga_note_layout(cluster, 0, "GPU-m", NULL, 1, NULL, 0, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_note_layout(cluster, 0, "GPU-shared", one, 1, NULL, 0, &why) == VGA_BAD_INPUT);
    CHECK(strstr(words, "a device that is shared as mig") != NULL);
    CHECK(vga_note_layout(cluster, 9, "GPU-m", one, 1, NULL, 0, &why) == VGA_UNKNOWN_NODE);
    CHECK(vga_plan_layout(cluster, 0, "GPU-m", &request, steps, sizeof *steps, 16, &count, &found, &why) ==
          VGA_BAD_ARGUMENT); /* struct_size */
    request.struct_size = sizeof request;
    CHECK(vga_plan_layout(cluster, 0, "GPU-m", &request, steps, 8, 16, &count, &found, &why) == VGA_BAD_ARGUMENT);
    CHECK(strstr(words, "steps: the size of one: got '8'") != NULL);
    CHECK(plan(cluster, NULL, NULL, steps, &count, &found) == VGA_BAD_INPUT);
    CHECK(plan(cluster, "1g.5gb", "1g.5gb=1", steps, &count, &found) == VGA_BAD_INPUT);
    CHECK(plan(cluster, "5g.5gb", NULL, steps, &count, &found) == VGA_BAD_INPUT);
    CHECK(plan(cluster, "1g.5gb@9", NULL, steps, &count, &found) == VGA_BAD_INPUT);
    CHECK(plan(cluster, NULL, "1g.5gb", steps, &count, &found) == VGA_BAD_INPUT);
    CHECK(plan(cluster, NULL, "7g.40gb=2", steps, &count, &found) == VGA_BAD_INPUT);
    request.want = "1g.5gb";
    CHECK(vga_plan_layout(cluster, 0, "GPU-m", &request, steps, sizeof *steps, 0, &count, &found, &why) ==
              VGA_TOO_SMALL &&
          count == 1);
    CHECK(note(cluster, &steps[15], 1) == VGA_BAD_INPUT); /* no profile */
    steps[0].kind = 2;
    CHECK(note(cluster, &steps[0], 1) == VGA_BAD_ARGUMENT);
    CHECK(vga_note_step(cluster, 0, "GPU-m", NULL, sizeof *steps, 1, &why) == VGA_BAD_ARGUMENT);
    CHECK(vga_note_step(cluster, 0, "GPU-m", steps, 4, 1, &why) == VGA_BAD_ARGUMENT);
    memset(steps, 'x', sizeof steps); /* a name without an end */
    steps[0].kind = VGA_CREATE_INSTANCE;
    CHECK(note(cluster, &steps[0], 1) == VGA_BAD_INPUT);
    CHECK(vga_layout(cluster, 0, "GPU-m", &small, &why) == VGA_TOO_SMALL);
    CHECK(vga_layout(cluster, 0, "GPU-m", NULL, &why) == VGA_BAD_ARGUMENT);
    vga_cluster_free(cluster);
}

static void pods_move_so_that_one_fits(void) {
    vga_cluster* cluster = NULL;
    vga_room_options options;
    const char* const runs = ",\"annotations\":{\"volcano.sh/vgpu-ids-new\":\"GPU-a%d,NVIDIA,%s,0:\"},"
                             "\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"r\",\"controller\":true}]";
    char pod[1024];
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.moves_max = options.downtime_max_us = options.steps_max = -1;
    CHECK_OK(vga_cluster_new(NULL, &cluster, &why));
    CHECK_OK(tell(cluster, NODE("a", CARD("GPU-a0") CARD("GPU-a1"))));
    for (int i = 0; i < 2; ++i) {
        char metadata[512];
        snprintf(metadata, sizeof metadata, runs, i, "15000");
        snprintf(pod, sizeof pod,
                 "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"r%d\",\"namespace\":\"ns\",\"uid\":\"run%d\"%s},"
                 "\"spec\":{\"nodeName\":\"a\",\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"
                 "\"volcano.sh/vgpu-number\":\"1\",\"volcano.sh/vgpu-memory\":\"15000\"}}}]},"
                 "\"status\":{\"phase\":\"Running\"}}",
                 i, i, metadata);
        CHECK_OK(tell(cluster, pod));
    }
    CHECK_OK(tell(cluster, POD("p", "u1", "30000")));
    CHECK_OK(vga_plan_room(cluster, "u1", &options, &json, &why));
    CHECK(strstr(text, "\"found\":true") != NULL && strstr(text, "\"uid\":\"run") != NULL);
    CHECK(strstr(text, "\"fewest_moves\":true") != NULL);
    options.moves_max = 0;
    CHECK_OK(vga_plan_room(cluster, "u1", &options, &json, &why));
    CHECK(strstr(text, "\"found\":false") != NULL && strstr(text, "\"reason\":\"none_within_moves\"") != NULL);
    CHECK_OK(tell(cluster, POD("q", "u2", "1000")));
    CHECK_OK(vga_plan_room(cluster, "u2", NULL, &json, &why));
    CHECK(strstr(text, "\"found\":true,\"moves\":[]") != NULL);
    CHECK(vga_plan_room(cluster, "run0", NULL, &json, &why) == VGA_WRONG_STATE);
    CHECK(vga_plan_room(cluster, "nobody", NULL, &json, &why) == VGA_UNKNOWN_POD);
    CHECK(vga_plan_room(cluster, NULL, NULL, &json, &why) == VGA_BAD_ARGUMENT);
    options.struct_size = 1;
    CHECK(vga_plan_room(cluster, "u1", &options, &json, &why) == VGA_BAD_ARGUMENT);
    json.capacity = 5;
    CHECK(vga_plan_room(cluster, "u1", NULL, &json, &why) == VGA_TOO_SMALL && json.length > 5);
    json.capacity = sizeof text;
    CHECK_OK(tell(cluster, POD("n", "u3", "-5")));
    CHECK(vga_plan_room(cluster, "u3", NULL, &json, &why) == VGA_BAD_INPUT);
    vga_cluster_free(cluster);
}

int main(void) {
    an_order_stays_whatever_objects_say();
    a_layout_follows_its_steps();
    a_pod_that_was_given_an_instance_gets_it();
    misuse_of_layouts_is_a_status();
    pods_move_so_that_one_fits();
    if (failed_checks > 0) fprintf(stderr, "%d checks failed\n", failed_checks);
    return failed_checks == 0 ? 0 : 1;
}
