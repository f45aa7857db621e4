// The search for layouts of a set of nodes.
#include "vgpuops/whatif/find_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "layout_program.hpp"
#include "vgpualloc/dialect/nvidia_layouts.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpuops/whatif/cut_nodes.hpp"

namespace vgpuops::whatif {

namespace nvidia = vgpualloc::dialects::nvidia;

namespace {

/// The MIG instances that a pod asks for; none: it is not of the mix.
instance_counts instances_of(const vgpualloc::pod_request& request) {
    instance_counts counts;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.family != nvidia::mig_family || container.profile.empty()) continue;
        counts[container.profile] += container.count;
    }
    return counts;
}

void add_times(instance_counts& to, const instance_counts& counts, std::int64_t times) {
    for (const auto& [profile, count] : counts) to[profile] += count * times;
}

auto rank_of(const layout_row& row) {
    const auto time = row.cut_time.value_or(vgpualloc::ticks{});
    return std::tuple{-row.run, row.restart, !row.cut_time.has_value(), time, row.layouts};
}

class layout_search {
public:
    layout_search(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                  const question& asked)
        : objects_{&objects}, dialects_{&dialects}, asked_{asked} {}

    expected<layouts_found> run(const std::string& set) {
        if (auto ready = prepare(set); !ready) return unexpected(ready.error());
        auto now = row_of(way(nodes_.size(), 0));
        if (!now) return unexpected(now.error());
        result_.run = (*now)->run;
        result_.wait = (*now)->wait;
        const auto searched = result_.possible <= ways_tried_max ? try_all() : search();
        if (!searched) return unexpected(searched.error());
        for (auto& [chosen, row] : rows_) result_.rows.push_back(row);
        std::ranges::sort(result_.rows, {}, rank_of);
        VGA_ASSERT(!result_.run_most || result_.rows.front().run <= *result_.run_most,
                   "no way runs more than the bound");
        return std::move(result_);
    }

private:
    expected<void> prepare(const std::string& set) {
        if (!asked_.start) {
            auto start = read_start(*objects_, *dialects_, asked_.stop);
            if (!start) return unexpected(std::move(start).error());
            asked_.start = *std::move(start);
        }
        kube::snapshot cluster = asked_.start->copy();
        read_added(cluster);
        if (auto read = read_mix(cluster); !read) return read;
        const auto members = nodes_named(cluster, set, "--find-layout");
        if (!members) return unexpected(members.error());
        // What the question does to nodes comes before their layouts.
        const auto evicted = apply(
            cluster,
            {.uncordoned = asked_.wanted.uncordoned, .drained = asked_.wanted.drained, .failed = asked_.wanted.failed},
            *objects_);
        if (!evicted) return unexpected(evicted.error());
        if (auto read = read_nodes(cluster, *members); !read) return read;
        note_demand(cluster);
        result_.possible = 1;
        for (const cuttable& node : nodes_) {
            result_.nodes.push_back(node.name);
            result_.possible = std::min(result_.possible * std::ssize(node.layouts), ways_counted_max);
        }
        return {};
    }

    /// What the question adds, as far as limits, quotas and queues let it in.
    void read_added(const kube::snapshot& cluster) {
        std::vector<kube::manifest> added = asked_.wanted.added_pods;
        kube::pod_admission admission{*objects_, added};
        kube::quota_book quotas{*objects_, added};
        quotas.forget_nodes();
        for (kube::manifest& object : added) {
            if (!object.pod || admission.admit(object)) continue;
            const auto pod = kube::read_snapshot_pod(object, cluster);
            if (!pod || pod->unserved || kube::why_held_back(*pod)) continue;
            const std::int64_t wanted = object.one_per_node ? kube::daemon_pods(cluster, *pod) : object.replicas;
            added_.emplace_back(instances_of(pod->request), quotas.admit(object, wanted).pods);
        }
    }

    /// What runs and what waits, and what comes.
    expected<void> read_mix(const kube::snapshot& cluster) {
        instance_counts wanted;
        for (const kube::bound_pod& bound : cluster.bound) {
            const instance_counts counts = instances_of(bound.pod.request);
            if (counts.empty()) continue;
            ++bound_pods_;
            instances_by_pod_.emplace(bound.pod.full_name(), counts);
            add_times(bound_instances_, counts, 1);
        }
        add_times(wanted, bound_instances_, 1);
        for (const kube::snapshot_pod& waits : cluster.pending) add_times(wanted, instances_of(waits.request), 1);
        for (const auto& [counts, pods] : added_) add_times(wanted, counts, pods);
        for (const auto& [profile, count] : wanted) result_.mix.push_back({.profile = profile, .instances = count});
        if (!result_.mix.empty()) return {};
        return unexpected(
            bad_input(error_code::missing, "", "no pod asks for MIG instances (nvidia.com/mig-…)").at("--find-layout"));
    }

    expected<void> read_nodes(const kube::snapshot& cluster, const std::vector<node_index>& members) {
        const nvidia::options options = nvidia::options_of(cluster.dialects.config());
        std::map<node_index, std::size_t> in_set; // its position in nodes_
        for (const node_index where : members) {
            const vgpualloc::node& described = cluster.nodes().nodes[where.at()];
            if (described.devices.empty() && members.size() > 1) continue;
            if (!takes_pods(cluster, where)) continue;
            const auto object = std::ranges::find_if(
                *objects_, [&](const kube::manifest& known) { return known.node && known.name == described.name; });
            VGA_ASSERT(object != objects_->end(), "the snapshot is of these objects");
            const auto gpus = nvidia::gpus_of(*object->node, options);
            const bool has_no_mig = !gpus && gpus.error().code == error_code::unknown_name;
            const bool is_only_one = nodes_.empty() && where == members.back();
            if (has_no_mig && !is_only_one) continue;
            if (!gpus) return unexpected(at_find_layout(gpus.error()));
            const std::string* const strategy = described.host.label("nvidia.com/mig.strategy");
            if (strategy != nullptr && *strategy == "single") {
                return unexpected(bad_value(error_code::unsupported, "nvidia.com/mig.strategy", *strategy,
                                            "mixed: under single no pod says which instance it wants")
                                      .at("--find-layout: node " + described.name));
            }
            in_set.emplace(where, nodes_.size());
            nodes_.push_back(layouts_for(described, *gpus, cluster.devices[where.at()]));
        }
        if (nodes_.empty()) {
            return unexpected(bad_input(error_code::missing, "", "no node of the set takes pods").at("--find-layout"));
        }
        for (std::size_t p = 0; p < cluster.bound.size(); ++p) {
            const kube::bound_pod& bound = cluster.bound[p];
            const bool has_devices = cluster.book->is_live(pod_id{p}) && // drained and failed nodes are in no set
                                     !cluster.book->booking_of(pod_id{p}).where.shares.empty();
            const instance_counts counts = instances_of(bound.pod.request);
            if (has_devices && in_set.contains(bound.node)) {
                ++nodes_[in_set.at(bound.node)].pods;
                if (counts.empty()) {
                    ++result_.others;
                    instances_by_pod_.emplace(bound.pod.full_name(), counts);
                }
            }
            if (!in_set.contains(bound.node) && !takes_pods(cluster, bound.node)) continue;
            add_times(used_, counts, 1);
            counted_nodes_.insert(cluster.nodes().nodes[bound.node.at()].name);
        }
        for (std::size_t n = 0; n < cluster.devices.size(); ++n) {
            if (in_set.contains(node_index{n}) || !takes_pods(cluster, node_index{n})) continue;
            add_times(elsewhere_, instances_of_node(cluster.devices[n]), 1);
        }
        return {};
    }

    /// Who shares the instances of nodes that take pods. Pods on others stay there, or are evicted and then counted
    /// as if they ran.
    void note_demand(const kube::snapshot& cluster) {
        demand_.elsewhere = elsewhere_;
        std::map<node_index, instance_counts> used; // by pods that go on running where they are
        for (std::size_t p = 0; p < cluster.bound.size(); ++p) {
            const kube::bound_pod& bound = cluster.bound[p];
            const instance_counts counts = instances_of(bound.pod.request);
            if (counts.empty()) continue;
            if (cluster.book->is_live(pod_id{p}) && takes_pods(cluster, bound.node)) {
                ++demand_.pods[counts];
                add_times(used[bound.node], counts, 1);
            } else {
                ++unshared_;
            }
        }
        // A node may have fewer instances than its pods, as after a GPU has failed: these run nevertheless.
        for (const auto& [where, counts] : used) {
            instance_counts offered = instances_of_node(cluster.devices[where.at()]);
            const auto node = std::ranges::find(nodes_, cluster.nodes().nodes[where.at()].name, &cuttable::name);
            for (const auto& [profile, count] : counts) {
                const std::int64_t above = std::max<std::int64_t>(count - offered[profile], 0);
                if (above > 0) (node == nodes_.end() ? demand_.elsewhere : node->used_above)[profile] += above;
            }
        }
        for (const kube::snapshot_pod& waits : cluster.pending) {
            const instance_counts counts = instances_of(waits.request);
            if (counts.empty() || waits.failure || waits.unserved || kube::why_held_back(waits)) continue;
            ++demand_.pods[counts];
        }
        for (const auto& [counts, pods] : added_) {
            if (!counts.empty() && pods > 0) demand_.pods[counts] += pods;
        }
    }

    [[nodiscard]] static bool takes_pods(const kube::snapshot& cluster, node_index where) {
        const vgpualloc::host_facts& host = cluster.nodes().nodes[where.at()].host;
        return cluster.book->is_present(where) && host.ready && !host.unschedulable;
    }

    static error at_find_layout(error problem) {
        problem.where = "--find-layout: " + problem.where;
        return problem;
    }

    /// Those that pods ask for by their profile.
    static instance_counts instances_of_node(const std::vector<kube::snapshot_device>& devices) {
        instance_counts counts;
        for (const kube::snapshot_device& device : devices) {
            if (device.registered.family != nvidia::mig_family) continue;
            for (const nvidia::layout_part& part : nvidia::parts_of(device.registered))
                counts[part.profile] += part.instances;
        }
        return counts;
    }

    cuttable layouts_for(const vgpualloc::node& described, const nvidia::node_gpus& gpus,
                         const std::vector<kube::snapshot_device>& devices) {
        cuttable result{.name = described.name, .gpus = gpus.gpus, .layouts = {{.name = gpus.layout}}};
        result.now = instances_of_node(devices);
        std::vector<nvidia::layout> others = nvidia::layouts_of(*gpus.model);
        for (std::size_t i = 0; i < others.size(); ++i) {
            if (others[i].name != gpus.layout && is_of_use(others, i)) result.layouts.push_back(others[i]);
        }
        return result;
    }

    /// Whether a layout has instances of the mix, and no other one has as many of each profile, and more of one; of
    /// equal ones the first is enough.
    [[nodiscard]] bool is_of_use(const std::vector<nvidia::layout>& layouts, std::size_t position) const {
        const auto of_mix = [this](const nvidia::layout& layout) {
            std::vector<std::int64_t> counts(result_.mix.size(), 0);
            for (const nvidia::layout_part& part : layout.parts) {
                const auto profile = std::ranges::find(result_.mix, part.profile, &mix_part::profile);
                if (profile == result_.mix.end()) continue;
                counts[static_cast<std::size_t>(profile - result_.mix.begin())] += part.instances;
            }
            return counts;
        };
        const std::vector<std::int64_t> own = of_mix(layouts[position]);
        if (std::ranges::all_of(own, [](std::int64_t count) { return count == 0; })) return false;
        for (std::size_t i = 0; i < layouts.size(); ++i) {
            const std::vector<std::int64_t> other = of_mix(layouts[i]);
            const bool has_all = std::ranges::equal(own, other, std::ranges::less_equal{});
            if (i != position && has_all && (other != own || i < position)) return false;
        }
        return true;
    }

    /// What becomes of the cluster with this way; a way is tried once.
    expected<const layout_row*> row_of(const way& chosen) {
        const auto known = rows_.find(chosen);
        if (known != rows_.end()) return &known->second;
        question changed = asked_;
        changed.places_only = true;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            if (chosen[i] == 0) continue;
            changed.wanted.modes.push_back(
                {.node = nodes_[i].name, .mode = "mig", .layout = nodes_[i].layouts[chosen[i]].name});
        }
        const auto answered = answer_of(*objects_, *dialects_, std::move(changed));
        if (!answered) return unexpected(answered.error());
        return &rows_.emplace(chosen, read_row(chosen, *answered)).first->second;
    }

    layout_row read_row(const way& chosen, const answer& answered) const {
        layout_row row{.is_now = std::ranges::all_of(chosen, [](std::size_t layout) { return layout == 0; })};
        row.run = bound_pods_ + result_.others;
        instance_counts spare = demand_.elsewhere;
        std::set<std::string> cut;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            const nvidia::layout& layout = nodes_[i].layouts[chosen[i]];
            row.layouts.push_back(layout.name.empty() ? std::string{uncut} : layout.name);
            add_times(spare, nodes_[i].room_with(chosen[i]), 1);
            if (chosen[i] != 0) cut.insert(nodes_[i].name);
        }
        add_times(spare, used_, -1);
        for (const pod_answer& entry : answered.pods) {
            if (cut.contains(entry.asked.from)) ++row.restart;
            const instance_counts counts = instances_of(entry.asked.pod.request);
            const bool is_of_set = std::ranges::find(nodes_, entry.asked.from, &cuttable::name) != nodes_.end();
            if (counts.empty() && !is_of_set) continue;
            const std::int64_t evicted = entry.asked.origin == pod_origin::evicted ? 1 : 0;
            row.run += std::ssize(entry.placed) - evicted;
            row.wait += entry.refused;
            const bool was_counted = counted_nodes_.contains(entry.asked.from);
            add_times(spare, counts, (was_counted ? evicted : 0) - std::ssize(entry.placed));
        }
        for (const ended_pod& pod : answered.ended) { // nothing makes it again
            const auto known = instances_by_pod_.find(pod.name);
            if (known == instances_by_pod_.end()) continue;
            --row.run;
            if (counted_nodes_.contains(pod.node)) add_times(spare, known->second, 1);
        }
        for (const layout_change& change : answered.layouts) {
            const bool is_known = row.cut_time && change.cut_time;
            row.cut_time = is_known ? std::optional{*row.cut_time + *change.cut_time} : std::nullopt;
        }
        for (const mix_part& part : result_.mix) row.spare.push_back(spare[part.profile]);
        return row;
    }

    expected<void> try_all() {
        way chosen(nodes_.size(), 0);
        while (true) {
            if (const auto row = row_of(chosen); !row) return unexpected(row.error());
            std::size_t i = 0;
            while (i < chosen.size() && ++chosen[i] == nodes_[i].layouts.size()) chosen[i++] = 0;
            if (i == chosen.size()) return {};
        }
    }

    /// Begins with the best of those of now, one layout for all nodes and what the program chooses.
    expected<void> search() {
        result_.is_exhaustive = false;
        std::vector<way> starts{way(nodes_.size(), 0)};
        std::set<std::string> names;
        for (const cuttable& node : nodes_) {
            for (const nvidia::layout& layout : node.layouts) names.insert(layout.name);
        }
        for (const std::string& name : names) {
            way& one = starts.emplace_back();
            for (const cuttable& node : nodes_) {
                const auto layout = std::ranges::find(node.layouts, name, &nvidia::layout::name);
                const bool has_it = layout != node.layouts.end();
                one.push_back(has_it ? static_cast<std::size_t>(layout - node.layouts.begin()) : 0);
            }
        }
        if (asked_.solver != nullptr) {
            if (const auto program = best_way_by_program(nodes_, demand_, *asked_.solver)) {
                result_.run_most = unshared_ + result_.others + program->pods_max;
                if (program->chosen) starts.push_back(*program->chosen);
            }
        }
        way best = starts.front();
        for (const way& start : starts) {
            const auto row = row_of(start);
            if (!row) return unexpected(row.error());
            if (rank_of(**row) < rank_of(rows_.at(best))) best = start;
        }
        if (result_.run_most == rows_.at(best).run) return {};
        return climb(std::move(best));
    }

    /// Changes one node after the other as long as that is better.
    expected<void> climb(way best) {
        bool is_better = true;
        while (is_better) {
            is_better = false;
            for (std::size_t i = 0; i < nodes_.size(); ++i) {
                way chosen = best;
                for (chosen[i] = 0; chosen[i] < nodes_[i].layouts.size(); ++chosen[i]) {
                    if (std::ssize(rows_) >= ways_tried_max && !rows_.contains(chosen)) return {};
                    const auto row = row_of(chosen);
                    if (!row) return unexpected(row.error());
                    if (rank_of(**row) >= rank_of(rows_.at(best))) continue;
                    best = chosen;
                    is_better = true;
                }
            }
        }
        return {};
    }

    const std::vector<kube::manifest>* objects_;
    const vgpualloc::dialect_set* dialects_;
    question asked_;
    std::vector<cuttable> nodes_;
    instance_counts elsewhere_;                                            ///< instances of other nodes that take pods
    instance_counts used_;                                                 ///< of the nodes of the set and of these
    std::set<std::string> counted_nodes_;                                  ///< whose pods `used_` has
    std::int64_t bound_pods_ = 0;                                          ///< of the mix
    std::map<std::string, instance_counts, std::less<>> instances_by_pod_; ///< of those, and of the others of the set
    instance_counts bound_instances_;
    std::vector<std::pair<instance_counts, std::int64_t>> added_; ///< what a pod asks for, and how many come
    instance_demand demand_;
    std::int64_t unshared_ = 0; ///< pods of the mix that run and are not of the demand
    std::map<way, layout_row> rows_;
    layouts_found result_;
};

} // namespace

expected<layouts_found> find_layouts(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                                     const question& asked, const std::string& set) {
    return layout_search{objects, dialects, asked}.run(set);
}

} // namespace vgpuops::whatif
