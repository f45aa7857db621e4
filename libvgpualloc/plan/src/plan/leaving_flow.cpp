// Pods that ask alike are one supply, devices that answer alike one sink.
#include "leaving_flow.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
// Boost 1.74: find_flow_cost.hpp relies on what this one includes.
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>

#include <boost/graph/find_flow_cost.hpp>

#include "room_options.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

using traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using flow_graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, traits::edge_descriptor,
                                                    boost::property<boost::edge_weight_t, std::int64_t>>>>>;

/// A network with the reverse edges that the algorithm needs.
class network {
public:
    explicit network(std::size_t vertices) : graph_{vertices} {}

    traits::edge_descriptor connect(std::size_t from, std::size_t to, std::int64_t capacity, std::int64_t cost) {
        const auto edge = boost::add_edge(from, to, graph_).first;
        const auto back = boost::add_edge(to, from, graph_).first;
        boost::put(boost::edge_capacity, graph_, edge, capacity);
        boost::put(boost::edge_capacity, graph_, back, 0);
        boost::put(boost::edge_weight, graph_, edge, cost);
        boost::put(boost::edge_weight, graph_, back, -cost);
        boost::put(boost::edge_reverse, graph_, edge, back);
        boost::put(boost::edge_reverse, graph_, back, edge);
        return edge;
    }
    void run(std::size_t source, std::size_t sink) {
        // Boost adds up the distances of vertices that cannot be reached, which are the largest number of all. In
        // signed numbers that may not be; in unsigned ones it has no effect, as such a vertex is never reached later.
        const auto index = boost::get(boost::vertex_index, graph_);
        std::vector<std::uint64_t> distances(boost::num_vertices(graph_));
        std::vector<std::uint64_t> sums(boost::num_vertices(graph_));
        boost::successive_shortest_path_nonnegative_weights(
            graph_, source, sink,
            boost::distance_map(boost::make_iterator_property_map(distances.begin(), index))
                .distance_map2(boost::make_iterator_property_map(sums.begin(), index)));
    }
    [[nodiscard]] std::int64_t flow(traits::edge_descriptor edge) const {
        return boost::get(boost::edge_capacity, graph_, edge) - boost::get(boost::edge_residual_capacity, graph_, edge);
    }

private:
    flow_graph graph_;
};

/// How many parts for the container the device could give one after the other, at most `most`.
std::int64_t parts_that_fit(const device_spec& spec, device_state state, const device_request& container,
                            std::int64_t most) {
    std::int64_t count = 0;
    std::vector<partition> parts;
    for (; count < most; ++count) {
        parts.clear();
        spec.mode->candidates(spec, state, container, parts);
        if (parts.empty()) break;
        state = spec.mode->with(spec, state, parts.front());
    }
    return count;
}

/// Devices that are in one state now.
struct sink {
    std::uint32_t kind = 0;
    device_state state;
    milli_gpu used;
    std::vector<std::size_t> members; ///< places
};

class matching {
public:
    matching(board& on, const std::vector<std::uint32_t>& pods, bool opens_idle, std::deque<placement>& places)
        : on_{&on}, pods_{&pods}, opens_idle_{opens_idle}, places_{&places}, places_before_{places.size()} {}

    bool place_all() {
        std::map<std::uint32_t, std::vector<std::uint32_t>> by_request; // simple ones
        for (const std::uint32_t pod : *pods_) {
            if (on_->request_of(pod).simple) by_request[on_->pod(pod).request].push_back(pod);
        }
        if (!place_others()) return take_back();
        for (auto& [request, group] : by_request) groups_.push_back(std::move(group));
        find_sinks();
        constexpr int rounds_max = 4;
        for (int round = 0; round < rounds_max; ++round) {
            const auto shares = solve();
            if (!shares) break;
            if (put_down(*shares)) return in_order();
        }
        return first_fit() ? in_order() : take_back();
    }

private:
    /// What each group sends to each sink.
    using flow_shares = std::vector<std::vector<std::int64_t>>;

    bool put_first_free(std::uint32_t pod) {
        const auto put_on = [&](const placement& where) {
            if (!opens_idle_ && opens_one(where)) return true;
            put(pod, where);
            return false;
        };
        return !for_each_free_place(*on_, pod, put_on, later_moves::none);
    }

    [[nodiscard]] bool opens_one(const placement& where) const {
        return std::ranges::any_of(where.shares, [&](const device_share& share) {
            return on_->residents(on_->first_of(where.node) + share.device.at()).empty();
        });
    }

    void put(std::uint32_t pod, const placement& where) {
        places_->push_back(where);
        on_->put(pod, &places_->back());
        put_.push_back(pod);
    }

    void undo_from(std::size_t count) {
        while (put_.size() > count) {
            on_->undo_put(put_.back());
            put_.pop_back();
            places_->pop_back();
        }
    }

    bool take_back() {
        undo_from(0);
        return false;
    }

    /// Pods of several devices, or that name devices: each to the first place that it finds.
    bool place_others() {
        for (const std::uint32_t pod : *pods_) {
            if (!on_->request_of(pod).simple && !put_first_free(pod)) return false;
        }
        others_ = put_.size();
        return true;
    }

    void find_sinks() {
        std::map<std::pair<std::uint32_t, device_state>, std::size_t> known;
        const auto add = [&](std::size_t place, std::uint32_t kind, const device_state& state) {
            if (on_->is_shut(place) || (!opens_idle_ && on_->residents(place).empty())) return;
            const auto [at, is_new] = known.try_emplace({kind, state}, sinks_.size());
            if (is_new) {
                const device_spec& spec = on_->spec_of(place);
                sinks_.push_back({.kind = kind, .state = state, .used = spec.mode->used(spec, state), .members = {}});
            }
            sinks_[at->second].members.push_back(place);
        };
        const auto wanted = pods_->size();
        constexpr std::size_t sinks_max = 128; // the fullest ones; where that is too few, first_fit() looks at all
        for (const std::uint32_t number : on_->fullest_first()) {
            const device_class& devices = on_->classes()[number];
            const auto serves = [&](const auto& group) { return on_->class_fits(group.front(), number); };
            if (sinks_.size() >= sinks_max) break;
            if (std::ranges::none_of(groups_, serves)) continue;
            std::size_t taken = 0;
            for (const std::uint32_t place : devices.members) {
                if (!on_->step()) break;
                if (on_->is_touched(place) || !allowed_somewhere(place)) continue;
                add(place, devices.kind, devices.state);
                if (++taken == wanted) break; // more of one state than there are pods are of no use
            }
        }
        for (const std::uint32_t place : on_->touched()) {
            const node_index where = on_->node_of(place);
            const std::size_t index = place - on_->first_of(where);
            add(place, on_->book().nodes().nodes[where.at()].devices[index].kind, on_->state_of(place));
        }
        lost_.assign(groups_.size(), std::vector<std::int64_t>(sinks_.size(), 0));
    }

    [[nodiscard]] bool allowed_somewhere(std::size_t place) {
        const node_index where = on_->node_of(place);
        return std::ranges::any_of(groups_, [&](const auto& group) {
            return on_->allows(group.front(), where) && on_->host_holds(group.front(), where);
        });
    }

    /// Vertices: source, groups, sinks, target. A device that is fuller costs less, so that room stays together.
    std::optional<flow_shares> solve() {
        const std::size_t source = 0;
        const std::size_t target = groups_.size() + sinks_.size() + 1;
        network graph{target + 1};
        std::vector<traits::edge_descriptor> supplies;
        std::vector<std::vector<std::optional<traits::edge_descriptor>>> edges(groups_.size());
        std::vector<std::int64_t> most(sinks_.size(), 0);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const auto count = std::ssize(groups_[g]);
            supplies.push_back(graph.connect(source, g + 1, count, 0));
            const device_request& container = on_->request_of(groups_[g].front()).asked->containers.front();
            for (std::size_t s = 0; s < sinks_.size(); ++s) {
                edges[g].emplace_back();
                if (!on_->step()) return std::nullopt;
                const device_spec& spec = on_->book().nodes().kinds[sinks_[s].kind];
                if (why_never(spec, container) != rejection_code::none) continue;
                const std::int64_t parts_per_device = parts_that_fit(spec, sinks_[s].state, container, count);
                const std::int64_t all = parts_per_device * std::ssize(sinks_[s].members) - lost_[g][s];
                if (all <= 0) continue;
                most[s] = std::max(most[s], parts_per_device * std::ssize(sinks_[s].members));
                edges[g].back() =
                    graph.connect(g + 1, groups_.size() + s + 1, all, (whole_gpu - sinks_[s].used).count());
            }
        }
        for (std::size_t s = 0; s < sinks_.size(); ++s) graph.connect(groups_.size() + s + 1, target, most[s], 0);
        graph.run(source, target);
        flow_shares shares(groups_.size(), std::vector<std::int64_t>(sinks_.size(), 0));
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (graph.flow(supplies[g]) < std::ssize(groups_[g])) return std::nullopt;
            for (std::size_t s = 0; s < sinks_.size(); ++s) {
                if (edges[g][s]) shares[g][s] = graph.flow(*edges[g][s]);
            }
        }
        return shares;
    }

    /// Puts the pods down as the flow says; what cannot be is noted, and all of it taken back.
    bool put_down(const flow_shares& shares) {
        bool complete = true;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            std::size_t next = 0;
            for (std::size_t s = 0; s < sinks_.size(); ++s) {
                for (std::int64_t n = 0; n < shares[g][s]; ++n) {
                    if (put_into(groups_[g][next], sinks_[s])) {
                        ++next;
                        continue;
                    }
                    lost_[g][s] += shares[g][s] - n;
                    complete = false;
                    break;
                }
            }
        }
        if (!complete) undo_from(others_);
        return complete;
    }

    bool put_into(std::uint32_t pod, const sink& devices) {
        for (const std::size_t place : devices.members) {
            if (!on_->step()) return false;
            if (const auto where = free_place_on(*on_, pod, place)) {
                put(pod, *where);
                return true;
            }
        }
        return false;
    }

    /// One by one, those with the least choice first: as they are.
    bool first_fit() {
        undo_from(others_);
        for (const auto& group : groups_) {
            for (const std::uint32_t pod : group) {
                if (!put_first_free(pod)) return false;
            }
        }
        return true;
    }

    /// Brings the places into the order of the pods.
    bool in_order() {
        std::vector<placement> by_pod;
        for (const std::uint32_t pod : *pods_) by_pod.push_back(*on_->pod(pod).where);
        undo_from(0);
        VGA_ASSERT(places_->size() == places_before_, "every pod that was put down has one place");
        for (std::size_t i = 0; i < by_pod.size(); ++i) put((*pods_)[i], by_pod[i]);
        return true;
    }

    board* on_;
    const std::vector<std::uint32_t>* pods_;
    bool opens_idle_;
    std::deque<placement>* places_;
    std::size_t places_before_;
    std::vector<std::vector<std::uint32_t>> groups_; ///< pods that ask alike, by position of their request
    std::vector<sink> sinks_;
    std::vector<std::vector<std::int64_t>> lost_; ///< by group and sink: what turned out not to fit
    std::vector<std::uint32_t> put_;
    std::size_t others_ = 0; ///< of put_: those that no flow is asked about
};

} // namespace

bool place_by_flow(board& on, const std::vector<std::uint32_t>& pods, bool opens_idle, std::deque<placement>& places) {
    return matching{on, pods, opens_idle, places}.place_all();
}

} // namespace vgpualloc::plan
