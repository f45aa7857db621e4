/* Cuts a MIG GPU anew step by step, as a device plugin does it. One step fails: the GPU is read and planned again. */
#include <stdio.h>
#include <string.h>

#include <vgpualloc/c_api.h>

static const char* const node_object =
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"volcano.sh/node-vgpu-register\":"
    "\"GPU-a0,7,40960,NVIDIA A100-SXM4-40GB,true,mig:\"}},\"status\":{\"allocatable\":{\"cpu\":\"64\","
    "\"memory\":\"256Gi\",\"pods\":\"110\",\"volcano.sh/vgpu-number\":\"7\",\"volcano.sh/vgpu-memory\":\"40960\","
    "\"volcano.sh/vgpu-cores\":\"100\"}}}";
static char words[512], text[1024];
static vga_text why = {words, sizeof words, 0}, json = {text, sizeof text, 0};

/* The driver's part: a program calls NVML here, which refuses the second step of the first plan. */
static int carry_out(const vga_layout_step* step) {
    static int calls;
    const int done = ++calls != 2;
    printf("  %s %s at %u (profile %u, %u slices): %s\n", step->kind == VGA_CREATE_INSTANCE ? "create" : "destroy",
           step->profile, step->start, step->profile_id, step->size, done ? "done" : "failed");
    return done;
}

/* All steps to a free instance of a profile; 0 if one failed. */
static int cut(vga_cluster* cluster, const char* profile) {
    const vga_layout_request wanted = {sizeof wanted, profile, NULL, 0};
    vga_layout_step steps[16];
    size_t count = 0;
    int found = 0, done = 1;
    if (vga_plan_layout(cluster, 0, "GPU-a0", &wanted, steps, sizeof *steps, 16, &count, &found, &why)) return 0;
    printf("%s: %s, %zu steps\n", profile, found ? "there is a way" : "there is no way", count);
    for (size_t i = 0; i < count && done; ++i) {
        done = carry_out(&steps[i]);
        if (vga_note_step(cluster, 0, "GPU-a0", &steps[i], sizeof *steps, done, &why)) return 0;
    }
    return done && found;
}

int main(void) {
    const char* const before[] = {"1g.5gb@0", "2g.10gb@4", "1g.5gb@6"}; /* as NVML lists them */
    const char* const after[] = {"1g.5gb@0", "2g.10gb@4"};              /* after the step that failed */
    vga_cluster* cluster = NULL;
    int in_use = 1; /* 1g.5gb@0, the first of both lists */
    if (vga_cluster_new(NULL, &cluster, &why) || vga_upsert(cluster, node_object, strlen(node_object), NULL, &why) ||
        vga_set_service(cluster, 0, "GPU-a0", VGA_RECONFIGURING, &why) || /* nothing new goes there meanwhile */
        vga_note_layout(cluster, 0, "GPU-a0", before, 3, before, (size_t)in_use, &why)) {
        return puts(words), 1;
    }
    if (!cut(cluster, "3g.20gb")) {
        printf("after that: %s\n", vga_status_name(vga_layout(cluster, 0, "GPU-a0", &json, &why)));
        if (vga_note_layout(cluster, 0, "GPU-a0", after, 2, after, (size_t)in_use, &why)) return puts(words), 1;
        if (!cut(cluster, "3g.20gb")) return puts(words), 1;
    }
    if (vga_layout(cluster, 0, "GPU-a0", &json, &why) || vga_set_service(cluster, 0, "GPU-a0", VGA_IN_SERVICE, &why)) {
        return puts(words), 1;
    }
    puts(text);
    vga_cluster_free(cluster);
    return 0;
}
