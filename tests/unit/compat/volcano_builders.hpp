// Nodes, pods and a scheduler for the tests of Volcano's vGPU devices, and what happened to a pod in one line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/scheduler.hpp"

namespace vgpualloc::compat::volcano::building {

inline const std::string number_name = "volcano.sh/vgpu-number";
inline const std::string memory_name = "volcano.sh/vgpu-memory";
inline const std::string cores_name = "volcano.sh/vgpu-cores";
inline const std::string percent_name = "volcano.sh/vgpu-memory-percentage";
inline const std::string ids_name = "volcano.sh/vgpu-ids-new";

struct card {
    std::string uuid = "GPU-00";
    std::string mode = "hami-core";
    std::int64_t memory_mib = 40960;
    std::string health = "true";
    std::string type = "NVIDIA-A100";
};

inline std::string registered(const card& of) {
    return of.uuid + ",10," + std::to_string(of.memory_mib) + "," + of.type + "," + of.health + "," + of.mode + ":";
}
inline node node_registering(std::string text) {
    node registered_node;
    registered_node.name = "n";
    registered_node.annotations["volcano.sh/node-vgpu-register"] = std::move(text);
    registered_node.allocatable = {{number_name, "20"}, {memory_name, "81920"}, {"volcano.sh/vgpu-cores", "200"}};
    return registered_node;
}
inline node node_of(const std::vector<card>& cards) {
    std::string text;
    for (const card& described : cards) text += registered(described);
    return node_registering(std::move(text));
}

inline mig_instance_kind kind(std::string name, std::int64_t memory_mib, std::int64_t count) {
    return {.name = std::move(name), .memory = memory_mib, .count = count};
}
/// The groups of an A100 with 40 GiB.
inline std::vector<mig_group> a100_groups() {
    return {{.name = "group1", .instances = {kind("1g.5gb", 5120, 7)}},
            {.name = "group2", .instances = {kind("2g.10gb", 10240, 3), kind("1g.5gb", 5120, 1)}},
            {.name = "group3", .instances = {kind("3g.20gb", 20480, 2)}},
            {.name = "group4", .instances = {kind("7g.40gb", 40960, 1)}}};
}

/// What a container asks of one card.
inline kubernetes::amount_map mib(std::int64_t memory, std::int64_t count = 1) {
    return {{number_name, count}, {memory_name, memory}};
}
/// Containers in order; an empty map is a container that asks for nothing.
inline pod pod_of(std::string uid, std::vector<kubernetes::amount_map> containers) {
    pod pending;
    pending.name = uid;
    pending.ns = "team";
    pending.uid = std::move(uid);
    for (auto& limits : containers)
        pending.containers.push_back({.name = "c", .limits = std::move(limits), .requests = {}});
    return pending;
}
inline pod annotated(pod of, const std::string& key, std::string value) {
    of.annotations[key] = std::move(value);
    return of;
}
inline pod labelled(pod of, const std::string& key, std::string value) {
    of.labels[key] = std::move(value);
    return of;
}
inline pod bound(pod of, std::string ids) { return annotated(std::move(of), ids_name, std::move(ids)); }

/// What one scheduler is made of.
struct setup {
    device_config config;
    plugin_options options;
    std::vector<node> nodes;

    explicit setup(std::vector<node> all) : nodes{std::move(all)} {
        options.vgpu = true;
        options.policy = "binpack";
        options.weight = 1;
        config.percent_name = percent_name;
        groups(a100_groups());
    }
    setup& groups(std::vector<mig_group> all) {
        config.mig_geometries = {{.models = {"A100"}, .groups = std::move(all)}};
        return *this;
    }
    setup& policy(std::string name) {
        options.policy = std::move(name);
        return *this;
    }
    setup& rules(std::vector<kubernetes::text_map> all) {
        options.exclusive_rules = std::move(all);
        return *this;
    }
    setup& without(quirk which) {
        options.quirks = options.quirks.without(which);
        return *this;
    }
    /// The first node's object alone, for what a scheduler does not let happen. Refers to this setup.
    [[nodiscard]] std::unique_ptr<device_object>
    object(std::shared_ptr<exclusive_memory> memory = make_exclusive_memory()) const {
        return make_vgpu(nodes.front(), config, options, std::move(memory));
    }
};

inline const card mig_card{.mode = "mig"};
/// A node with one card that is cut by MIG.
inline setup one_mig() { return setup{{node_of({mig_card})}}; }

enum class session : std::uint8_t { fresh, same };

/// One thing after another, and one line about each.
class story {
public:
    explicit story(const setup& with) : scheduler_{with.config, with.options} {
        for (const node& owned : with.nodes) scheduler_.add_node(owned);
    }

    story& add(const pod& pending, session in = session::fresh) { return attempted(pending, in, false); }
    story& discard(const pod& pending, session in = session::fresh) { return attempted(pending, in, true); }
    story& restore(const pod& running) {
        scheduler_.restore(running, 0);
        return *this;
    }
    story& remove(const std::string& uid) {
        scheduler_.remove(uid);
        return *this;
    }
    story& update_node() {
        scheduler_.update_node(0);
        return *this;
    }
    /// Appends what the first node's cards hold in the cache.
    story& cache() { return wrote("cache: " + in_words(scheduler_.cache_state(0))); }
    story& session_cards() { return wrote("session: " + in_words(scheduler_.session_state(0))); }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    story& wrote(const std::string& line) {
        text_ += (text_.empty() ? "" : "\n") + line;
        return *this;
    }
    story& attempted(const pod& pending, session in, bool roll_back) {
        if (in == session::fresh) scheduler_.open_session();
        const attempt decided = scheduler_.schedule(pending, roll_back);
        const node_answer& first = decided.nodes.front();
        if (!decided.allocated) return wrote(pending.uid + " refused: " + first.verdict.reason);
        if (!decided.allocated->ok) return wrote(pending.uid + " failed: " + decided.allocated->reason);
        return wrote(pending.uid + " scores " + std::to_string(first.weighted) + ": " +
                     kubernetes::value_of(decided.allocated->annotations, ids_name));
    }
    /// Per card: pods, memory, MIG group and instances in use.
    static std::string in_words(const ledger_state& of) {
        std::string words;
        for (const card_state& shown : of.devices) {
            words += (words.empty() ? "" : " | ") + std::to_string(shown.used_num) + " x, " +
                     std::to_string(shown.used_mem) + " MiB";
            if (shown.mig_index && *shown.mig_index >= 0) words += ", group " + std::to_string(*shown.mig_index);
            for (const mig_usage& used : shown.usage) {
                words += ", " + used.name;
                for (const std::int64_t slot : used.used) words += " " + std::to_string(slot);
            }
        }
        return words;
    }

    scheduler scheduler_;
    std::string text_;
};

} // namespace vgpualloc::compat::volcano::building
