// The C interface: statuses for what the C++ side says by values, and nothing thrown across it.
#include "vgpualloc/c_api.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call.hpp"
#include "figures_json.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/live/live_figures.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"

using vgpualloc::error;
using vgpualloc::expected;
using vgpualloc::live_cluster;
using vgpualloc::live_figures;
using vgpualloc::live_options;
using vgpualloc::live_pod_state;
using vgpualloc::live_question;
using vgpualloc::node_index;
using vgpualloc::node_opinion;
using vgpualloc::rejection_code;
using vgpualloc::rejection_detail;
using vgpualloc::c_api::give_text;
using vgpualloc::c_api::guarded;
using vgpualloc::c_api::is_known_item;
using vgpualloc::c_api::is_known_size;
using vgpualloc::c_api::on;
using vgpualloc::c_api::outside_trials;
using vgpualloc::c_api::refuse;
using vgpualloc::c_api::refuse_input;
using vgpualloc::c_api::text_or_empty;
using vgpualloc::c_api::unknown_pod;
using vgpualloc::c_api::wrong_item_size;
using vgpualloc::c_api::wrong_size;
using vgpuformats::document;

namespace {

/// What is wrong with a call about a pod and a node, if its answer says so; else VGA_OK.
vga_status status_of(live_cluster& live, const char* uid, rejection_code code, vga_text* why) {
    switch (code) {
    case rejection_code::pod_not_known:
        return unknown_pod(uid, why);
    case rejection_code::pod_is_live:
        return refuse(VGA_WRONG_STATE, why, "pod " + live.full_name_of(uid) + " has something already");
    case rejection_code::node_not_known:
    case rejection_code::node_gone:
        return refuse(VGA_UNKNOWN_NODE, why, "no node has that number");
    default:
        if (const auto failure = live.failure_of(uid)) return refuse_input(why, *failure);
        return VGA_OK;
    }
}

vga_answer answer_of(const node_opinion& opinion) {
    return {.score = opinion.score,
            .rank = opinion.rank,
            .wanted = opinion.refusal.wanted,
            .available = opinion.refusal.available,
            .unit = opinion.unit.data(),
            .compromise = opinion.compromise,
            .reason = static_cast<vga_reason>(opinion.refusal.code)};
}

std::optional<std::string> maybe_text(const char* text) {
    return text == nullptr ? std::nullopt : std::optional<std::string>{text};
}

expected<live_options> read_options(const vga_options* options) {
    if (options == nullptr) return live_options{.policies = vgpualloc::all_policies()};
    return vgpualloc::read_live_options({.policy = maybe_text(options->policy),
                                         .device_policy = maybe_text(options->device_policy),
                                         .catalog = maybe_text(options->catalog),
                                         .device_config = maybe_text(options->device_config),
                                         .scheduler_config = maybe_text(options->scheduler_config)},
                                        {}, vgpualloc::all_policies());
}

vga_status pod_call(vga_cluster* cluster, const char* uid, vga_text* why,
                    rejection_detail (live_cluster::*call)(std::string_view), const char* wanted) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid is NULL");
        if (live.state_of(uid) == live_pod_state::unknown) return unknown_pod(uid, why);
        switch ((live.*call)(uid).code) {
        case rejection_code::none:
            return VGA_OK;
        case rejection_code::node_gone:
            return refuse(VGA_UNKNOWN_NODE, why, "the node of pod " + live.full_name_of(uid) + " is gone");
        default:
            return refuse(VGA_WRONG_STATE, why, "pod " + live.full_name_of(uid) + " is not " + wanted);
        }
    });
}

/// Writes every node's answer to a pod; `ask(live, write)` hands them over in the order of the nodes.
template <class Ask>
vga_status write_answers(vga_cluster* cluster, const char* uid, vga_answer* answers, size_t answer_size,
                         size_t capacity, size_t* count, vga_text* why, Ask&& ask) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || count == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or count is NULL");
        if (!is_known_item<vga_answer>(answer_size)) return wrong_item_size<vga_answer>("answers", answer_size, why);
        *count = live.book().nodes().nodes.size();
        if (capacity < *count || (answers == nullptr && *count > 0)) {
            return refuse(VGA_TOO_SMALL, why, "there are more nodes than answers have room for");
        }
        if (const auto failure = live.failure_of(uid)) return refuse_input(why, *failure);
        const rejection_detail refused =
            ask(live, [answers](const node_opinion& opinion) mutable { *answers++ = answer_of(opinion); });
        return refused.code == rejection_code::none ? VGA_OK : unknown_pod(uid, why);
    });
}

} // namespace

extern "C" {

uint32_t vga_abi_version(void) { return VGA_ABI_VERSION; }
const char* vga_version(void) { return vgpualloc::version.data(); } // of a literal

const char* vga_status_name(vga_status status) {
    constexpr std::array<const char*, 10> names{
        "VGA_OK",          "VGA_BAD_ARGUMENT", "VGA_BAD_INPUT", "VGA_UNKNOWN_NODE",  "VGA_UNKNOWN_POD",
        "VGA_WRONG_STATE", "VGA_OUTDATED",     "VGA_TOO_SMALL", "VGA_OUT_OF_MEMORY", "VGA_INTERNAL"};
    std::uint32_t position = 0; // a caller in C may hold any number in it, which no C++ enumeration may
    static_assert(sizeof position == sizeof status);
    std::memcpy(&position, &status, sizeof position);
    return position < names.size() ? names[position] : "unknown status";
}

uint32_t vga_reason_count(void) { return static_cast<uint32_t>(vgpualloc::rejection_code_count); }
const char* vga_reason_name(vga_reason reason) {
    if (reason >= vga_reason_count()) return "unknown reason";
    return to_string(static_cast<rejection_code>(reason)).data(); // of literals
}

vga_status vga_cluster_new(const vga_options* options, vga_cluster** cluster, vga_text* why) {
    return guarded(why, [&] {
        if (cluster == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "cluster is NULL");
        *cluster = nullptr;
        if (!is_known_size(options)) return wrong_size("vga_options", *options, why);
        auto read = read_options(options);
        if (!read) return refuse_input(why, read.error());
        auto live = live_cluster::make(*std::move(read));
        if (!live) return refuse_input(why, live.error());
        auto made = std::make_unique<vga_cluster>();
        made->live = *std::move(live);
        made->layouts = std::make_unique<vgpualloc::operate::device_layouts>(*made->live);
        *cluster = made.release();
        return VGA_OK;
    });
}

void vga_cluster_free(vga_cluster* cluster) { delete cluster; }

vga_status vga_configure(vga_cluster* cluster, const vga_options* options, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        if (!is_known_size(options)) return wrong_size("vga_options", *options, why);
        auto read = read_options(options);
        if (!read) return refuse_input(why, read.error());
        const auto done = live.configure(*std::move(read));
        ++cluster->nodes_version; // numbers are given anew
        return done ? VGA_OK : refuse_input(why, done.error());
    });
}

vga_status vga_upsert(vga_cluster* cluster, const char* text, size_t size, vga_upserted* done, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        if (text == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "text is NULL");
        if (!is_known_size(done)) return wrong_size("vga_upserted", *done, why);
        const auto objects = vgpualloc::kube::read_told_objects({text, size}, "object");
        if (!objects) return refuse_input(why, objects.error());
        vga_upserted counts{.struct_size = sizeof(vga_upserted), .objects = 0, .changed = 0, .outdated = 0};
        for (const auto& object : *objects) {
            if (!object.node && object.kind != "Pod" && object.kind != "ConfigMap") continue;
            ++counts.objects;
            const node_index known = object.node ? live.find_node(object.name) : node_index{};
            const auto told = live.upsert(object);
            counts.changed += static_cast<uint32_t>(told == live_cluster::told::changed);
            counts.outdated += static_cast<uint32_t>(told == live_cluster::told::outdated);
            // What a ConfigMap says of a node's devices may be what lets the node in, or keeps it out.
            const bool may_renumber = object.node ? live.find_node(object.name) != known : object.kind != "Pod";
            if (may_renumber && told == live_cluster::told::changed) ++cluster->nodes_version;
        }
        if (done != nullptr) {
            counts.struct_size = done->struct_size;
            std::memcpy(done, &counts, sizeof counts);
        }
        if (counts.objects > 0 && counts.outdated == counts.objects) {
            return refuse(VGA_OUTDATED, why, "a younger pod of that name is known");
        }
        return VGA_OK;
    });
}

vga_status vga_remove_node(vga_cluster* cluster, const char* name, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        if (name == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "name is NULL");
        if (!live.remove_node(name)) return refuse(VGA_UNKNOWN_NODE, why, "no node " + std::string{name});
        ++cluster->nodes_version;
        return VGA_OK;
    });
}

vga_status vga_remove_pod(vga_cluster* cluster, const char* uid, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid is NULL");
        return live.remove_pod(uid) ? VGA_OK : unknown_pod(uid, why);
    });
}

vga_status vga_remove_config_map(vga_cluster* cluster, const char* name, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        if (name == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "name is NULL");
        if (!live.remove_config_map(name)) {
            return refuse(VGA_BAD_INPUT, why,
                          "no ConfigMap " + std::string{name} + ": expected one that is there, as <namespace>/<name>");
        }
        ++cluster->nodes_version;
        return VGA_OK;
    });
}

vga_status vga_swap(vga_cluster* cluster, vga_cluster* other, vga_text* why) {
    return guarded(why, [&] {
        if (cluster == nullptr || other == nullptr || cluster == other) {
            return refuse(VGA_BAD_ARGUMENT, why, "cluster and other: expected two clusters");
        }
        const std::scoped_lock alone{cluster->turn, other->turn};
        if (cluster->live->trials() > 0 || other->live->trials() > 0) {
            return refuse(VGA_WRONG_STATE, why, "a trial is open: it has to end first");
        }
        std::swap(cluster->live, other->live);
        std::swap(cluster->layouts, other->layouts);
        cluster->nodes_version = other->nodes_version = std::max(cluster->nodes_version, other->nodes_version) + 1;
        return VGA_OK;
    });
}

vga_status vga_nodes_version(vga_cluster* cluster, uint32_t* limit, uint64_t* version) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        if (limit == nullptr || version == nullptr) return VGA_BAD_ARGUMENT;
        *limit = static_cast<uint32_t>(live.book().nodes().nodes.size());
        *version = cluster->nodes_version;
        return VGA_OK;
    });
}

vga_status vga_find_node(vga_cluster* cluster, const char* name, uint32_t* node, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (name == nullptr || node == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "name or node is NULL");
        const node_index where = live.find_node(name);
        if (!where.valid()) return refuse(VGA_UNKNOWN_NODE, why, "no node " + std::string{name});
        *node = where.value();
        return VGA_OK;
    });
}

vga_status vga_node_name(vga_cluster* cluster, uint32_t node, vga_text* name) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        const node_index where{node};
        if (where.at() >= live.book().nodes().nodes.size() || !live.book().is_present(where)) return VGA_UNKNOWN_NODE;
        return give_text(name, live.book().nodes().nodes[where.at()].name);
    });
}

vga_status vga_node_names(vga_cluster* cluster, uint32_t* limit, uint64_t* version, vga_text* names) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        if (limit == nullptr || version == nullptr || names == nullptr) return VGA_BAD_ARGUMENT;
        const auto& nodes = live.book().nodes().nodes;
        std::string text;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            if (live.book().is_present(node_index{n})) text += nodes[n].name.c_str(); // as C reads it: up to a NUL
            text += '\0';
        }
        *limit = static_cast<uint32_t>(nodes.size());
        *version = cluster->nodes_version;
        return give_text(names, text);
    });
}

vga_status vga_evaluate_sized(vga_cluster* cluster, const char* uid, uint32_t flags, vga_answer* answers,
                              size_t answer_size, size_t capacity, size_t* count, vga_text* why) {
    if ((flags & ~VGA_WITH_NUMBERS) != 0) return refuse(VGA_BAD_ARGUMENT, why, "flags: one that is not known");
    const bool numbers = (flags & VGA_WITH_NUMBERS) != 0;
    return write_answers(cluster, uid, answers, answer_size, capacity, count, why,
                         [&](live_cluster& live, const auto& write) { return live.evaluate(uid, numbers, write); });
}

vga_status vga_evaluate_empty_sized(vga_cluster* cluster, const char* uid, vga_answer* answers, size_t answer_size,
                                    size_t capacity, size_t* count, vga_text* why) {
    return write_answers(cluster, uid, answers, answer_size, capacity, count, why,
                         [&](live_cluster& live, const auto& write) { return live.evaluate_empty(uid, write); });
}

vga_status vga_ask_without_sized(vga_cluster* cluster, const char* uid, uint32_t node, const char* const* pods,
                                 size_t pod_count, vga_answer* answer, size_t answer_size, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || answer == nullptr || (pods == nullptr && pod_count > 0)) {
            return refuse(VGA_BAD_ARGUMENT, why, "uid, answer or pods is NULL");
        }
        if (!is_known_item<vga_answer>(answer_size)) return wrong_item_size<vga_answer>("answer", answer_size, why);
        std::vector<std::string> without;
        for (const char* const pod : std::span{pods, pod_count}) without.emplace_back(text_or_empty(pod));
        const node_opinion opinion =
            without.empty() ? live.ask_node(uid, node_index{node}) : live.ask_without(uid, node_index{node}, without);
        *answer = answer_of(opinion);
        return status_of(live, uid, opinion.refusal.code, why);
    });
}

vga_status vga_choose(vga_cluster* cluster, const char* uid, const uint32_t* nodes, size_t node_count, uint32_t* node,
                      int* found, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || (nodes == nullptr && node_count > 0) || node == nullptr || found == nullptr) {
            return refuse(VGA_BAD_ARGUMENT, why, "uid, nodes, node or found is NULL");
        }
        if (const auto failure = live.failure_of(uid)) return refuse_input(why, *failure);
        std::vector<node_index> candidates;
        for (const uint32_t candidate : std::span{nodes, node_count}) candidates.emplace_back(candidate);
        const auto chosen = live.choose(uid, candidates);
        if (!chosen) return status_of(live, uid, chosen.error().code, why);
        *found = chosen->has_value() ? 1 : 0;
        if (*chosen) *node = (*chosen)->value();
        return VGA_OK;
    });
}

vga_status vga_explain(vga_cluster* cluster, const char* uid, vga_text* json, vga_text* why) {
    std::optional<live_question> question; // explained when others have their turn
    const vga_status asked = on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || json == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or json is NULL");
        if (live.state_of(uid) == live_pod_state::unknown) return unknown_pod(uid, why);
        auto taken = live.question(uid);
        if (!taken) return refuse_input(why, taken.error());
        question = *std::move(taken);
        return VGA_OK;
    });
    if (asked != VGA_OK) return asked;
    return guarded(why, [&] {
        const auto explained = question->explain();
        if (!explained) return refuse_input(why, explained.error());
        return give_text(json, explanation_json(*explained, {.warnings = question->state.warnings}));
    });
}

vga_status vga_get_pod(vga_cluster* cluster, const char* uid, vga_pod_state* state, uint32_t* node) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        if (uid == nullptr || state == nullptr) return VGA_BAD_ARGUMENT;
        *state = static_cast<vga_pod_state>(live.state_of(uid));
        const auto* const held = live.booking_of(uid);
        if (node != nullptr && held != nullptr) *node = held->where.node.value();
        return VGA_OK;
    });
}

vga_status vga_reads_resource(vga_cluster* cluster, const char* resource, int* reads, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (resource == nullptr || reads == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "resource or reads is NULL");
        const bool is_read = std::ranges::any_of(live.view().dialects(),
                                                 [&](const auto& spoken) { return spoken->reads_resource(resource); });
        *reads = is_read ? 1 : 0;
        return VGA_OK;
    });
}

vga_status vga_reading_version(vga_cluster* cluster, uint64_t* version) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        if (version == nullptr) return VGA_BAD_ARGUMENT;
        *version = live.view().dialects_version();
        return VGA_OK;
    });
}

vga_status vga_wants_devices(vga_cluster* cluster, const char* uid, int* wants, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || wants == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or wants is NULL");
        if (live.state_of(uid) == vgpualloc::live_pod_state::unknown) return unknown_pod(uid, why);
        *wants = live.wants_devices(uid) ? 1 : 0;
        return VGA_OK;
    });
}

vga_status vga_reserve_sized(vga_cluster* cluster, const char* uid, uint32_t node, vga_answer* answer,
                             size_t answer_size, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || answer == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or answer is NULL");
        if (!is_known_item<vga_answer>(answer_size)) return wrong_item_size<vga_answer>("answer", answer_size, why);
        const node_opinion opinion = live.reserve(uid, node_index{node});
        *answer = answer_of(opinion);
        return opinion.fits() ? VGA_OK : status_of(live, uid, opinion.refusal.code, why);
    });
}

vga_status vga_commit(vga_cluster* cluster, const char* uid, vga_text* why) {
    return pod_call(cluster, uid, why, &live_cluster::commit, "reserved");
}
vga_status vga_rollback(vga_cluster* cluster, const char* uid, vga_text* why) {
    return pod_call(cluster, uid, why, &live_cluster::rollback, "reserved");
}
vga_status vga_release(vga_cluster* cluster, const char* uid, vga_text* why) {
    return pod_call(cluster, uid, why, &live_cluster::release, "committed");
}
vga_status vga_suspend(vga_cluster* cluster, const char* uid, vga_text* why) {
    return pod_call(cluster, uid, why, &live_cluster::suspend, "committed");
}
vga_status vga_resume(vga_cluster* cluster, const char* uid, vga_text* why) {
    return pod_call(cluster, uid, why, &live_cluster::resume, "suspended");
}

vga_status vga_annotations(vga_cluster* cluster, const char* uid, int64_t unix_ns, vga_text* json, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || json == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or json is NULL");
        if (live.state_of(uid) == live_pod_state::unknown) return unknown_pod(uid, why);
        if (unix_ns < 0) {
            return refuse(VGA_BAD_ARGUMENT, why,
                          "unix_ns: got '" + std::to_string(unix_ns) + "', expected a time from 1970 on");
        }
        if (live.booking_of(uid) == nullptr) {
            return refuse(VGA_WRONG_STATE, why, "pod " + live.full_name_of(uid) + " has nothing");
        }
        const auto annotations = live.annotations_of(uid, unix_ns);
        if (!annotations) return refuse_input(why, annotations.error());
        document object = document::map();
        for (const auto& [key, value] : *annotations) object[key] = value;
        return give_text(json, vgpuformats::print_json(object));
    });
}

vga_status vga_begin_trial(vga_cluster* cluster, vga_text* why) {
    return on(cluster, why, [](live_cluster& live) {
        live.begin_trial();
        return VGA_OK;
    });
}

vga_status vga_end_trial(vga_cluster* cluster, int keep, vga_text* why) {
    return on(cluster, why, [&](live_cluster& live) {
        return live.end_trial(keep != 0) ? VGA_OK : refuse(VGA_WRONG_STATE, why, "no trial is open");
    });
}

vga_status vga_learn_workload(vga_cluster* cluster, int* learned, vga_text* why) {
    return outside_trials(cluster, why, [&](live_cluster& live) {
        const bool is_new = live.learn_workload();
        if (learned != nullptr) *learned = is_new ? 1 : 0;
        return VGA_OK;
    });
}

vga_status vga_metrics(vga_cluster* cluster, vga_text* json) {
    live_figures figures; // written when others have their turn
    const vga_status taken = on(cluster, nullptr, [&](live_cluster& live) {
        figures = figures_of(live);
        return VGA_OK;
    });
    if (taken != VGA_OK) return taken;
    return guarded(nullptr, [&] { return give_text(json, vgpuformats::print_json(vgpualloc::figures_json(figures))); });
}

vga_status vga_warnings(vga_cluster* cluster, vga_text* json) {
    return on(cluster, nullptr, [&](live_cluster& live) {
        document list = document::list();
        for (const std::string& note : vgpualloc::notes_of(live.view().dialects().config())) list.push_back(note);
        for (const error& warning : live.view().warnings()) list.push_back(warning.message());
        for (const error& reservation : live.dropped()) list.push_back(reservation.message());
        return give_text(json, vgpuformats::print_json(list));
    });
}

} // extern "C"
