/* What vgpusim answers, for C and for languages that call C: one call with the texts of all inputs, which returns what
 * the command line prints and writes. No file is opened or written, no clock is read and nothing is kept between two
 * calls, so that any number of threads may call at once.
 *
 * Ownership. Everything in a question belongs to the caller and is read during the call only. The reply belongs to the
 * library; its texts live until vgpu_reply_free. Texts end with NUL, which their size does not count.
 *
 * Nothing is thrown across this interface. A NULL where there has to be something is an error of the reply; other wrong
 * pointers are not detected. */
#ifndef VGPUFACADE_ASK_H
#define VGPUFACADE_ASK_H

#include <stddef.h>

#if defined(__GNUC__)
#define VGPU_API __attribute__((visibility("default")))
#else
#define VGPU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Rises when a program that was compiled with an older header could not go on with this library. */
#define VGPU_ASK_VERSION 1

/** Of the library that is linked: equal to VGPU_ASK_VERSION of the header it was built with. */
VGPU_API unsigned vgpu_ask_version(void);

/** An input: what options call it, and its bytes, compressed with gzip or not. */
typedef struct vgpu_named_text {
    const char* name;
    const char* data;
    size_t size;
} vgpu_named_text;

/** An option by name. The value is what stands behind the flag of that name, "true" for a flag without one; names have
 * '_' for '-'. An option that may be repeated comes several times. */
typedef struct vgpu_option {
    const char* name;
    const char* value;
} vgpu_option;

/** Commands and their options:
 * - simulate: the keys of docs/formats.md; bound, scenario
 * - compare: the same keys and scenario; policy is repeated
 * - explain: cluster (repeated), pod, policy, device_policy, seed, config, catalog (repeated), scheduler_config, node,
 *   all
 * - show: cluster, config, catalog (repeated), nodes, namespace, by, prices, output (table, wide, yaml or html: the
 *   file show.html, a sentence as text and no JSON), all
 * - why: cluster, config, catalog (repeated), pod
 * - whatif: cluster, add_nodes, add_pods, node_template, uncordon, drain, fail, set_mode, config, catalog (repeated),
 *   policy, device_policy, seed, anew, find_nodes, find_layout, all
 * - plan: cluster, config, catalog, keep_namespace, movable_label (repeated), pod, add_pod, consolidate, moves,
 *   downtime_s, move_s, copy_s_per_gib, steps, move_bare_pods
 * - validate: files, config, catalog (repeated), scheduler_config
 * - options, without any: the keys of a simulation with type, values, default and help
 *
 * Options that name an input have the name of one of `texts`. */
typedef struct vgpu_question {
    size_t struct_size; /**< sizeof the structure, so that later versions may add fields at its end */
    const char* command;
    const vgpu_option* options;
    size_t option_count;
    const vgpu_named_text* texts;
    size_t text_count;
    /** Asked often: anything but 0 ends the call. May be NULL. */
    int (*stop)(void* context);
    void* stop_context;
} vgpu_question;

typedef struct vgpu_reply vgpu_reply;

/** Answers. NULL only where there is no memory for a reply, or the question is NULL or of an unknown size. */
VGPU_API vgpu_reply* vgpu_ask(const vgpu_question* question);
/** NULL is passed by. */
VGPU_API void vgpu_reply_free(vgpu_reply* reply);

/** The command line's exit code: 0 done, 1 a failure that is not the input's, 2 bad input; and 3, `stop` ended it. */
VGPU_API int vgpu_reply_code(const vgpu_reply* reply);
/** What the command line prints on standard error: errors and warnings, a line each. `size` may be NULL, here and
 * below. */
VGPU_API const char* vgpu_reply_errors(const vgpu_reply* reply, size_t* size);
/** What it prints on standard output, but for names of files. */
VGPU_API const char* vgpu_reply_text(const vgpu_reply* reply, size_t* size);
/** What it prints with --json. */
VGPU_API const char* vgpu_reply_json(const vgpu_reply* reply, size_t* size);
/** What it writes with --out. */
VGPU_API size_t vgpu_reply_file_count(const vgpu_reply* reply);
/** Name and content of a file; NULL for a number that is not below the count. */
VGPU_API const char* vgpu_reply_file_name(const vgpu_reply* reply, size_t number);
VGPU_API const char* vgpu_reply_file(const vgpu_reply* reply, size_t number, size_t* size);

#ifdef __cplusplus
}
#endif

#endif
