/* The allocation core for C and for languages that call C. A scheduler reports objects (vga_upsert), queries where a
 * pod fits (vga_evaluate), reserves devices (vga_reserve), and gets the annotations to write (vga_annotations).
 *
 * Status. Every call that can fail returns a vga_status: whether the call was carried out. A pod that fits nowhere is
 * VGA_OK with reasons. A failed call changes nothing and writes a message to `why` (may be NULL); but after
 * VGA_OUT_OF_MEMORY or VGA_INTERNAL the call may be half done: free the cluster. Nothing is thrown across this
 * interface. Unknown pods, late or repeated events and calls in the wrong order return a status; they never end the
 * program. Wrong pointers are not detected, and memory that runs out while a trial is undone ends the program.
 *
 * Ownership. vga_cluster_new creates a cluster, vga_cluster_free frees it. All other memory belongs to the caller:
 * texts are written into the caller's buffers (vga_text), and the library retains nothing passed in.
 *
 * Structures begin with `struct_size`, which the caller sets to sizeof the structure as its compiler knows it, so that
 * later versions may add fields at the end. Those that come in arrays have none: the call is told the size of one,
 * which the functions in this header fill in. The library rejects a size that neither its own header nor an older one
 * defines.
 *
 * Threads. Any number of threads may use a cluster; its calls run one at a time. vga_explain and vga_metrics block
 * others only while they read the cluster. An array of answers is the caller's own, so any number of threads can read
 * it without a call. An open trial is visible to all threads: the caller must keep them away until it ends.
 *
 * Texts are UTF-8 and end with NUL, but for those that have a size beside them. Nodes are numbers that are valid while
 * the node is there; another node may get the number later, which vga_nodes_version tells. Pods are known by
 * metadata.uid; an object without one is known by "<namespace>/<name>". */
#ifndef VGPUALLOC_C_API_H
#define VGPUALLOC_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VGA_API __attribute__((visibility("default")))
#else
#define VGA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Rises when a program that was compiled with an older header could not go on with this library. */
#define VGA_ABI_VERSION 1

/** Of the library that is linked: equal to VGA_ABI_VERSION of the header it was built with. */
VGA_API uint32_t vga_abi_version(void);
/** The version of the library, "0.1.0". Never freed. */
VGA_API const char* vga_version(void);

typedef enum vga_status {
    VGA_OK = 0,
    VGA_BAD_ARGUMENT = 1, /**< a NULL where none may be, a structure of an unknown size or flag, a negative time */
    VGA_BAD_INPUT = 2,    /**< a text that cannot be read, or a name in it that nobody knows */
    VGA_UNKNOWN_NODE = 3,
    VGA_UNKNOWN_POD = 4,
    VGA_WRONG_STATE = 5,   /**< the call does not go with what the pod has, or with a trial that is open or not */
    VGA_OUTDATED = 6,      /**< an event about a pod in whose place a younger one of that name is */
    VGA_TOO_SMALL = 7,     /**< the buffer; how large it has to be is written */
    VGA_OUT_OF_MEMORY = 8, /**< what was begun may be half done: free the cluster */
    VGA_INTERNAL = 9       /**< a fault of the library; as above */
} vga_status;

/** "VGA_OK", …; "unknown status" for any other number. Never freed. */
VGA_API const char* vga_status_name(vga_status status);

/** A buffer of the caller for a text. `length` is written: bytes of the text without its NUL. Where it is not below
 * `capacity` the text was cut (of an error's words) or not written (VGA_TOO_SMALL). `data` may be NULL if `capacity` is
 * 0. */
typedef struct vga_text {
    char* data;
    size_t capacity;
    size_t length;
} vga_text;

/* ---- the cluster */

typedef struct vga_cluster vga_cluster;

/** NULL stands for the default. The texts are read during the call only. */
typedef struct vga_options {
    size_t struct_size;
    /** As `vgpusim policies` lists, none that draws, or weighted:NAME=WEIGHT,…; default bid_price. */
    const char* policy;
    const char* device_policy; /**< for the devices of a node; default, and what "" stands for: policy */
    const char* catalog;       /**< JSON: boards and chips beside those built in; docs/catalog.md */
    const char* device_config; /**< YAML or JSON: device-config.yaml of Volcano or HAMi, or ConfigMaps that hold it */
    const char* scheduler_config; /**< YAML: volcano-scheduler.conf, of which the arguments of plugin vgpualloc or
                                       deviceshare count; a policy there stands where the two above are NULL */
} vga_options;

/** Makes a cluster without nodes. Errors: VGA_BAD_INPUT. */
VGA_API vga_status vga_cluster_new(const vga_options* options, vga_cluster** cluster, vga_text* why);
/** NULL is passed by. No call on the cluster may be under way, and none may follow. */
VGA_API void vga_cluster_free(vga_cluster* cluster);
/** Other options from now on. What runs stays, and so does what is reserved, by uuids of devices; pods whose devices
 * the new configuration does not have wait again, and vga_warnings names them until the next vga_configure. Errors:
 * VGA_BAD_INPUT, VGA_WRONG_STATE in a trial. */
VGA_API vga_status vga_configure(vga_cluster* cluster, const vga_options* options, vga_text* why);

/** What vga_upsert did. */
typedef struct vga_upserted {
    size_t struct_size;
    uint32_t objects;  /**< that were read: Node, Pod, ConfigMap */
    uint32_t changed;  /**< of these: that say something new */
    uint32_t outdated; /**< of these: pods that are older than the one of that name that is known; passed by */
} vga_upserted;

/** Objects as they are now, JSON or YAML, one, several documents or a List: nodes in every dialect, pods that wait and
 * pods that have devices, ConfigMaps. Other kinds are passed by. A pod that is bound has what its annotations say, also
 * if that is more than there is. A pod that has ended is removed. `done` may be NULL. Errors: VGA_BAD_INPUT if the text
 * cannot be parsed or an object in it, or what stands in its place, has no kind; others are kept as far as they can be
 * read (vga_warnings); VGA_OUTDATED if every object is; VGA_WRONG_STATE in a trial. */
VGA_API vga_status vga_upsert(vga_cluster* cluster, const char* text, size_t size, vga_upserted* done, vga_text* why);
/** Pods that have something there keep waiting for it. Errors: VGA_UNKNOWN_NODE, VGA_WRONG_STATE in a trial. */
VGA_API vga_status vga_remove_node(vga_cluster* cluster, const char* name, vga_text* why);
/** Gives back what the pod has. Errors: VGA_UNKNOWN_POD, as of an event that comes twice or late; VGA_WRONG_STATE in a
 * trial. */
VGA_API vga_status vga_remove_pod(vga_cluster* cluster, const char* uid, vga_text* why);
/** `name` is "<namespace>/<name>". Errors: VGA_BAD_INPUT if there is none of that name; VGA_WRONG_STATE in a trial. */
VGA_API vga_status vga_remove_config_map(vga_cluster* cluster, const char* name, vga_text* why);

/** Each of two clusters becomes what the other one is, between two calls of others: for whoever makes a new cluster of
 * the same objects. Numbers of nodes may be others then. Errors: VGA_BAD_ARGUMENT if one is NULL or both are the same;
 * VGA_WRONG_STATE if one is in a trial. */
VGA_API vga_status vga_swap(vga_cluster* cluster, vga_cluster* other, vga_text* why);

/* ---- nodes */

/** Written: all numbers of nodes are below `limit`, and `version` rises whenever a number gets or loses its node. */
VGA_API vga_status vga_nodes_version(vga_cluster* cluster, uint32_t* limit, uint64_t* version);
/** Errors: VGA_UNKNOWN_NODE. */
VGA_API vga_status vga_find_node(vga_cluster* cluster, const char* name, uint32_t* node, vga_text* why);
/** Errors: VGA_UNKNOWN_NODE, VGA_TOO_SMALL. */
VGA_API vga_status vga_node_name(vga_cluster* cluster, uint32_t node, vga_text* name);
/** All names at once, in the order of the numbers: after each name follows a NUL, and the name of a number that no node
 * has is empty. `limit` and `version` are those of the same moment, as vga_nodes_version writes them. Errors:
 * VGA_TOO_SMALL. */
VGA_API vga_status vga_node_names(vga_cluster* cluster, uint32_t* limit, uint64_t* version, vga_text* names);

/* ---- questions */

/** Why a node refuses. 0: the pod fits. Numbers may change with VGA_ABI_VERSION, names stay. */
typedef uint32_t vga_reason;
#define VGA_FITS 0u
/** How many reasons there are; they are 0 to that number less one. */
VGA_API uint32_t vga_reason_count(void);
/** "insufficient_device_memory"; "" for VGA_FITS, "unknown reason" for others. Never freed. */
VGA_API const char* vga_reason_name(vga_reason reason);

/** What one node says to a pod. A pod goes to the node of the least compromise, of these to one of the highest score,
 * of these to the one of the lowest rank. */
typedef struct vga_answer {
    double score;       /**< of the policy; meaningful if it fits */
    uint64_t rank;      /**< of nodes with equal scores the lowest goes first */
    int64_t wanted;     /**< what the reason is about; 0 where it is about no amount or nobody asked for numbers */
    int64_t available;  /**< of it, on the device that comes closest */
    const char* unit;   /**< of both: "MiB", "%", "mCPU", "devices", …; "" without numbers. Never freed */
    int32_t compromise; /**< how far the best placement there falls short of what was asked */
    vga_reason reason;
} vga_answer;

/** Flags of vga_evaluate. */
#define VGA_WITH_NUMBERS 1u /**< wanted and available of nodes that refuse: takes a closer look at each of them */

/* What the functions of these names below call, with the size of an answer as the program knows it. */
VGA_API vga_status vga_evaluate_sized(vga_cluster* cluster, const char* uid, uint32_t flags, vga_answer* answers,
                                      size_t answer_size, size_t capacity, size_t* count, vga_text* why);
VGA_API vga_status vga_evaluate_empty_sized(vga_cluster* cluster, const char* uid, vga_answer* answers,
                                            size_t answer_size, size_t capacity, size_t* count, vga_text* why);
VGA_API vga_status vga_ask_without_sized(vga_cluster* cluster, const char* uid, uint32_t node, const char* const* pods,
                                         size_t pod_count, vga_answer* answer, size_t answer_size, vga_text* why);
VGA_API vga_status vga_reserve_sized(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                                     size_t answer_size, vga_text* why);

#ifndef VGA_SYMBOLS_ONLY /* the library has functions of these names too, for programs of older headers */
/** Every node's answer to a pod that waits, by number of the node, also of numbers that no node has. `answers` has room
 * for `capacity` of them. Written: `count`, how many there are. Errors: VGA_UNKNOWN_POD, VGA_TOO_SMALL, VGA_BAD_INPUT
 * for a pod that no scheduler can serve, with the reason. */
static inline vga_status vga_evaluate(vga_cluster* cluster, const char* uid, uint32_t flags, vga_answer* answers,
                                      size_t capacity, size_t* count, vga_text* why) {
    return vga_evaluate_sized(cluster, uid, flags, answers, sizeof(vga_answer), capacity, count, why);
}
/** One node's answer if these pods had nothing, with numbers. Pods that are not known or have nothing do not count.
 * Nothing has happened afterwards. Errors: VGA_UNKNOWN_POD, VGA_UNKNOWN_NODE, VGA_BAD_INPUT as above. */
static inline vga_status vga_ask_without(vga_cluster* cluster, const char* uid, uint32_t node, const char* const* pods,
                                         size_t pod_count, vga_answer* answer, vga_text* why) {
    return vga_ask_without_sized(cluster, uid, node, pods, pod_count, answer, sizeof(vga_answer), why);
}
/** One node's answer, with numbers. Errors: as above. */
static inline vga_status vga_ask_node(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                                      vga_text* why) {
    return vga_ask_without(cluster, uid, node, NULL, 0, answer, why);
}
/** Every node's answer if no pod had anything there, with numbers: whether evicting pods could make room. Written as by
 * vga_evaluate. Nodes that differ in nothing but names are asked once. Nothing has happened afterwards. Errors: those
 * of vga_evaluate. */
static inline vga_status vga_evaluate_empty(vga_cluster* cluster, const char* uid, vga_answer* answers, size_t capacity,
                                            size_t* count, vga_text* why) {
    return vga_evaluate_empty_sized(cluster, uid, answers, sizeof(vga_answer), capacity, count, why);
}
/** Books a pod that waits on the devices of a node that the policy prefers there, if it fits: answer->reason is then
 * VGA_FITS. Errors: VGA_UNKNOWN_POD, VGA_UNKNOWN_NODE, VGA_WRONG_STATE if it has something, VGA_BAD_INPUT as above. */
static inline vga_status vga_reserve(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                                     vga_text* why) {
    return vga_reserve_sized(cluster, uid, node, answer, sizeof(vga_answer), why);
}
#endif
/** Of candidates the one where the pod goes. `found` is 1, or 0 if it fits on none of them. Errors: as above. */
VGA_API vga_status vga_choose(vga_cluster* cluster, const char* uid, const uint32_t* nodes, size_t node_count,
                              uint32_t* node, int* found, vga_text* why);
/** Why the pod goes where it goes, or nowhere: JSON as `vgpusim explain --json` prints it. Errors: VGA_UNKNOWN_POD,
 * VGA_BAD_INPUT as above, VGA_TOO_SMALL. */
VGA_API vga_status vga_explain(vga_cluster* cluster, const char* uid, vga_text* json, vga_text* why);

/* ---- pods */

typedef enum vga_pod_state {
    VGA_POD_UNKNOWN = 0,
    VGA_POD_WAITING = 1,   /**< it has nothing */
    VGA_POD_RESERVED = 2,  /**< booked, and can be rolled back */
    VGA_POD_COMMITTED = 3, /**< it has its devices */
    VGA_POD_SUSPENDED = 4  /**< it runs and counts for nothing until it is resumed */
} vga_pod_state;

/** Fails only on invalid arguments; `node` is written if it is not NULL and the pod is reserved or committed. */
VGA_API vga_status vga_get_pod(vga_cluster* cluster, const char* uid, vga_pod_state* state, uint32_t* node);
/** Written: 1 if some dialect reads that resource ("volcano.sh/vgpu-memory"): amounts of it are the core's to compare,
 * device by device; 0 if none does. */
VGA_API vga_status vga_reads_resource(vga_cluster* cluster, const char* resource, int* reads, vga_text* why);
/** Written: a version that changes when the same pods may parse differently: under another configuration, or with the
 * first node of a dialect. */
VGA_API vga_status vga_reading_version(vga_cluster* cluster, uint64_t* version);
/** Written: 1 if the pod asks for devices, also where its request cannot be read; 0 if it asks for none. Errors:
 * VGA_UNKNOWN_POD. */
VGA_API vga_status vga_wants_devices(vga_cluster* cluster, const char* uid, int* wants, vga_text* why);
/** A reserved pod is bound now. Errors of these five: VGA_UNKNOWN_POD, VGA_WRONG_STATE. */
VGA_API vga_status vga_commit(vga_cluster* cluster, const char* uid, vga_text* why);
/** Takes a reservation back: the cluster is exactly as before. */
VGA_API vga_status vga_rollback(vga_cluster* cluster, const char* uid, vga_text* why);
/** A committed pod gives back what it has. */
VGA_API vga_status vga_release(vga_cluster* cluster, const char* uid, vga_text* why);
/** A committed pod counts for nothing for a while: what would be if it were evicted. */
VGA_API vga_status vga_suspend(vga_cluster* cluster, const char* uid, vga_text* why);
/** The end of that: it has its devices again, also if others got them meanwhile. Also VGA_UNKNOWN_NODE while its node
 * is gone: it stays suspended until the node is back. */
VGA_API vga_status vga_resume(vga_cluster* cluster, const char* uid, vga_text* why);
/** What to write on a reserved or committed pod so that the device plugins know: a JSON object of texts; {} for a pod
 * without devices. `unix_ns` is the time of the decision, in nanoseconds since 1970. Errors: VGA_UNKNOWN_POD,
 * VGA_BAD_ARGUMENT for a time before that, VGA_WRONG_STATE if it has nothing, VGA_BAD_INPUT for devices of another
 * dialect than the pod's and for those of a node that is gone, VGA_TOO_SMALL. */
VGA_API vga_status vga_annotations(vga_cluster* cluster, const char* uid, int64_t unix_ns, vga_text* json,
                                   vga_text* why);

/* ---- devices: for who operates them on a node. A device is named by its uuid; of one that is not there VGA_BAD_INPUT
 */

typedef enum vga_service {
    VGA_IN_SERVICE = 0,
    VGA_DRAINING = 1,     /**< it keeps what it has and gets nothing new */
    VGA_FAILED = 2,       /**< broken, or registered as not healthy */
    VGA_RECONFIGURING = 3 /**< as draining, while its layout is changed */
} vga_service;

/** Takes a device out of service or puts it back; `service` is a vga_service. VGA_DRAINING and VGA_RECONFIGURING stay,
 * whatever objects say, until this call ends them or the node goes; with VGA_IN_SERVICE the device is as its node's
 * object says. That it has failed holds until that object changes. A device that its node registers no longer, or
 * otherwise, and that pods keep, takes nothing new whatever is ordered: it goes or changes with the last of them.
 * Errors: VGA_UNKNOWN_NODE, VGA_BAD_INPUT, VGA_BAD_ARGUMENT for another number. */
VGA_API vga_status vga_set_service(vga_cluster* cluster, uint32_t node, const char* device, uint32_t service,
                                   vga_text* why);
VGA_API vga_status vga_get_service(vga_cluster* cluster, uint32_t node, const char* device, vga_service* service,
                                   vga_text* why);

/** What the driver has cut a MIG GPU into: instances as PROFILE@START ("3g.20gb@4", start in memory slices), and of
 * these the ones that are in use. In the place of all that was noted of it before. Which instances pods were given the
 * cluster knows itself, but for GPUs that are cut by geometry groups. Errors: VGA_UNKNOWN_NODE; VGA_BAD_INPUT for a
 * device that is not shared as mig, a model that the catalog does not have, and instances that cannot exist together.
 */
VGA_API vga_status vga_note_layout(vga_cluster* cluster, uint32_t node, const char* device,
                                   const char* const* instances, size_t instance_count, const char* const* busy,
                                   size_t busy_count, vga_text* why);
/** The instances that exist, and those that pods were given and that do not exist yet: JSON, docs/embedding.md has its
 * members. Errors: as above, VGA_TOO_SMALL; VGA_WRONG_STATE after a step has failed, until vga_note_layout. */
VGA_API vga_status vga_layout(vga_cluster* cluster, uint32_t node, const char* device, vga_text* json, vga_text* why);

typedef enum vga_step_kind {
    VGA_DESTROY_INSTANCE = 0, /**< with its compute instances */
    VGA_CREATE_INSTANCE = 1   /**< and a compute instance of all of it */
} vga_step_kind;

/** One step as the driver wants it: nvmlDeviceCreateGpuInstanceWithPlacement takes profile_id and {start, size}. */
typedef struct vga_layout_step {
    uint32_t kind; /**< vga_step_kind */
    uint32_t profile_id;
    uint32_t start;   /**< in memory slices */
    uint32_t size;    /**< likewise */
    int64_t takes_us; /**< what the plan takes it to last */
    char profile[32]; /**< the profile's name */
} vga_layout_step;

/** One of `want` and `group`; the other is NULL. */
typedef struct vga_layout_request {
    size_t struct_size;
    const char* want;  /**< PROFILE: a free instance of it; PROFILE@START: this one, as of a pod that was given it */
    const char* group; /**< PROFILE=COUNT,…: exactly these instances, on a GPU that nobody uses */
    int anew;          /**< of a group: 1, so that no instance of the old one stays */
} vga_layout_request;

/** The cheapest steps to a layout, one after the other. No instance in use is touched, and no place that a pod was
 * given is taken. `steps` has room for `capacity` of `step_size` bytes each (sizeof(vga_layout_step)). Written:
 * `found`, 0 if there is no way, and `count`, how many there are; 0 if it is there already. Nothing has happened
 * afterwards. Errors: those of vga_layout. */
VGA_API vga_status vga_plan_layout(vga_cluster* cluster, uint32_t node, const char* device,
                                   const vga_layout_request* request, vga_layout_step* steps, size_t step_size,
                                   size_t capacity, size_t* count, int* found, vga_text* why);
/** What became of a step: `done` 1, and the layout is what it leaves; 0, and what the GPU is cut into is not known
 * until vga_note_layout. Of a step its kind, profile (the name) and start count. Errors: those of vga_layout;
 * VGA_BAD_INPUT also for a step that this GPU cannot take: nothing is noted then. */
VGA_API vga_status vga_note_step(vga_cluster* cluster, uint32_t node, const char* device, const vga_layout_step* step,
                                 size_t step_size, int done, vga_text* why);

/** A value below 0 stands for the default. */
typedef struct vga_room_options {
    size_t struct_size;
    int64_t moves_max;       /**< at most so many moves; default 3 */
    int64_t downtime_max_us; /**< of all moves and devices together; default: no limit */
    int64_t steps_max;       /**< of the search; default 400,000 */
    int move_bare_pods;      /**< 1: pods that no controller makes again may move as well */
} vga_room_options;

/** Which pods would have to move so that one that waits fits: JSON, docs/embedding.md has its members; "found" is false
 * where there is no plan. `options` may be NULL. Nothing has happened afterwards. Errors: VGA_UNKNOWN_POD,
 * VGA_BAD_INPUT for a pod that no scheduler can serve, VGA_WRONG_STATE if it has something, VGA_TOO_SMALL. */
VGA_API vga_status vga_plan_room(vga_cluster* cluster, const char* uid, const vga_room_options* options, vga_text* json,
                                 vga_text* why);

/* ---- trials: anything may be booked and given back in them; objects cannot be told. They nest */

VGA_API vga_status vga_begin_trial(vga_cluster* cluster, vga_text* why);
/** `keep` 0: the cluster is exactly as it was when the innermost trial began. Errors: VGA_WRONG_STATE without one. */
VGA_API vga_status vga_end_trial(vga_cluster* cluster, int keep, vga_text* why);

/* ---- what there is to tell */

/** Updates the policies' typical workload to the current pods if it has changed by more than 5 %; policy fgd uses it.
 * `learned` (may be NULL): 1 if so. Errors: VGA_WRONG_STATE in a trial. */
VGA_API vga_status vga_learn_workload(vga_cluster* cluster, int* learned, vga_text* why);
/** What is used of every device and by whom: JSON, docs/embedding.md has its members. Errors: VGA_TOO_SMALL. */
VGA_API vga_status vga_metrics(vga_cluster* cluster, vga_text* json);
/** What the devices' configuration switches off, what of the objects could not be read, and what is given out twice: a
 * JSON list of texts. Errors: VGA_TOO_SMALL. */
VGA_API vga_status vga_warnings(vga_cluster* cluster, vga_text* json);

#ifdef __cplusplus
}
#endif

#endif
