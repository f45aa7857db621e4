/* What both programs check with: a line for every check that fails, and how many there were. */
#ifndef VGA_CHECK_H
#define VGA_CHECK_H

#include <stdio.h>
#include <string.h>

#include "vgpualloc/c_api.h"

static int failed_checks;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            ++failed_checks;                                                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
        }                                                                                                              \
    } while (0)

/* A status that is not VGA_OK is told with its reason. */
#define CHECK_OK(call)                                                                                                 \
    do {                                                                                                               \
        const vga_status status_of_call = (call);                                                                      \
        if (status_of_call != VGA_OK) {                                                                                \
            ++failed_checks;                                                                                           \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, vga_status_name(status_of_call));            \
        }                                                                                                              \
    } while (0)

/* A node with as many A100 of 40 GiB as `cards` names, and a pod that asks for a part of one. */
#define NODE(name, cards)                                                                                              \
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"" name                                                                \
    "\",\"annotations\":{\"volcano.sh/node-vgpu-register\":\"" cards                                                   \
    "\"}},\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\","                          \
    "\"volcano.sh/vgpu-number\":\"20\",\"volcano.sh/vgpu-memory\":\"81920\",\"volcano.sh/vgpu-cores\":\"200\"}}}"
#define CARD(uuid) uuid ",10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:"
#define POD_SAYING(name, uid, memory, metadata, spec)                                                                  \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid "\"" metadata          \
    "},\"spec\":{" spec "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"cpu\":\"1\","                 \
    "\"volcano.sh/vgpu-number\":\"1\",\"volcano.sh/vgpu-memory\":\"" memory "\"}}}]}}"
#define LIST(first, second) "{\"kind\":\"List\",\"items\":[" first "," second "]}"
#define POD(name, uid, memory) POD_SAYING(name, uid, memory, "", "")

static vga_status tell(vga_cluster* cluster, const char* object) {
    return vga_upsert(cluster, object, strlen(object), NULL, NULL);
}

#endif
