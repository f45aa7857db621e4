// Distances in the graph of a model by Dijkstra's algorithm, backwards from the vertices that are wanted, and walks
// along them.
#include "vgpualloc/plan/mig_transition.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t cost_max = 1'000'000'000'000;

/// Ticks for so much memory to go one way between GPU and host, rounded up.
[[nodiscard]] ticks copy_time(mib memory, std::int64_t mib_per_s) noexcept {
    const std::int64_t amount = memory.count() * ticks_per_second.count();
    return ticks{(amount + mib_per_s - 1) / mib_per_s};
}

/// Memory that a pod in an instance of this profile has at most, as far as the catalog says.
[[nodiscard]] mib memory_moved(const mig_model& model, const mig_profile& profile) noexcept {
    constexpr std::int64_t bytes_per_gb = 1'000'000'000;
    const mib named{model.memory_gb.value_or(0) * bytes_per_gb / bytes_per_mib};
    return charged_memory(model, profile, model.memory.value_or(named));
}

struct edge_length {
    std::int64_t ticks = 0;
};
using reversed_graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, edge_length>;

[[nodiscard]] expected<void> check_costs(const mig_step_costs& costs) {
    const std::array<std::pair<const char*, std::int64_t>, 4> named{{{"create", costs.create.count()},
                                                                     {"destroy", costs.destroy.count()},
                                                                     {"restart", costs.restart.count()},
                                                                     {"copy_mib_per_s", costs.copy_mib_per_s}}};
    for (const auto& [name, amount] : named) {
        if (amount >= 1 && amount <= cost_max) continue;
        return unexpected(
            bad_value(error_code::out_of_range, name, std::to_string(amount), "1 to 10^12").at("costs of steps"));
    }
    return {};
}

[[nodiscard]] error mismatch(const char* field, const char* problem) {
    return bad_input(error_code::mismatch, field, problem).at("live state");
}

[[nodiscard]] expected<void> check_live(const gpu_layouts& states, const mig_live_state& live,
                                        const mig_transition_options& options) {
    if (!states.find(live.instances)) return unexpected(mismatch("instances", "they cannot exist together"));
    if ((live.busy & ~live.instances) != 0) return unexpected(mismatch("busy", "one of them is no instance"));
    if ((live.pinned & ~live.busy) != 0) return unexpected(mismatch("pinned", "one of them is not busy"));
    if (options.moves_max < 0 || options.moves_max > mig_transitions::moves_max_max) {
        return unexpected(bad_value(error_code::out_of_range, "moves", std::to_string(options.moves_max),
                                    "0 to " + std::to_string(mig_transitions::moves_max_max)));
    }
    return {};
}

} // namespace

std::string_view name_of(mig_step_kind kind) noexcept {
    constexpr std::array<std::string_view, 5> names{"destroy", "create", "move", "save", "restore"};
    return names[static_cast<std::size_t>(kind)];
}

/// The vertices that one set of live states can come to, and how far each is from what is wanted. A vertex is a set of
/// instances, the places of the pods that may move, and how many moves are left.
struct mig_transitions::table {
    struct vertex {
        std::size_t state = 0;
        mig_places movable = 0; ///< places of pods that may move and are not waiting
        std::int64_t moves_left = 0;
    };
    struct edge {
        mig_step_kind kind = mig_step_kind::destroy;
        std::size_t place = 0;
        std::size_t from = 0; ///< of a move
        vertex to{};
        std::int64_t ticks = 0;
    };

    table(const mig_transitions& graph, const table_key& key);

    [[nodiscard]] std::size_t entries() const noexcept { return distance.size(); }
    [[nodiscard]] std::size_t index_of(const vertex& v) const noexcept;
    [[nodiscard]] bool is_wanted(const vertex& v) const noexcept;
    /// Calls use(edge) for every step that may be taken.
    template <class Use>
    void for_each_edge(const vertex& v, Use&& use) const;

    const gpu_layouts* states;
    const mig_transitions* owner;
    mig_places pinned;
    std::size_t movable_multiset;
    mig_places wanted;
    std::int64_t moves_max;
    bool may_wait;
    mig_places useful = 0;                ///< places where an instance may be worth creating
    std::vector<bool> possible;           ///< by multiset: whether the pods that are not waiting may be these
    std::vector<std::size_t> first;       ///< by state, and one more: position of its first arrangement
    std::vector<mig_places> arrangements; ///< by state, ascending: places of movable pods
    std::vector<std::int64_t> distance;   ///< by arrangement and moves left

private:
    void find_vertices();
    void find_distances();
};

mig_transitions::table::table(const mig_transitions& graph, const table_key& key)
    : states{&graph.states_}, owner{&graph}, pinned{std::get<0>(key)}, movable_multiset{std::get<1>(key)},
      wanted{std::get<2>(key)}, moves_max{std::get<3>(key)}, may_wait{std::get<4>(key)} {
    find_vertices();
    find_distances();
}

void mig_transitions::table::find_vertices() {
    const auto& pods = states->counts_of(movable_multiset);
    useful = wanted;
    for (std::size_t profile = 0; moves_max > 0 && profile < pods.size(); ++profile) {
        if (pods[profile] > 0) useful |= states->places_of(profile);
    }
    for (std::size_t multiset = 0; multiset < states->multisets(); ++multiset) {
        const auto& counts = states->counts_of(multiset);
        const bool part_of = std::ranges::equal(counts, pods, [](auto few, auto many) { return few <= many; });
        possible.push_back(multiset == movable_multiset || (may_wait && part_of));
    }
    for (std::size_t state = 0; state < states->size(); ++state) {
        first.push_back(arrangements.size());
        const mig_places layout = states->layout(state);
        if ((pinned & ~layout) != 0) continue;
        const mig_places free = layout & ~pinned;
        for (mig_places movable = 0;; movable = (movable - free) & free) { // every part of `free`, ascending
            if (possible[states->multiset_of(states->find(movable).value_or(0))]) arrangements.push_back(movable);
            if (movable == free) break;
        }
    }
    first.push_back(arrangements.size());
}

std::size_t mig_transitions::table::index_of(const vertex& v) const noexcept {
    const auto begin = arrangements.begin() + static_cast<std::ptrdiff_t>(first[v.state]);
    const auto end = arrangements.begin() + static_cast<std::ptrdiff_t>(first[v.state + 1]);
    const auto position = std::lower_bound(begin, end, v.movable);
    VGA_ASSERT(position != end && *position == v.movable, "a step leads to an arrangement that the table has");
    const auto layers = static_cast<std::size_t>(moves_max) + 1;
    return static_cast<std::size_t>(position - arrangements.begin()) * layers + static_cast<std::size_t>(v.moves_left);
}

bool mig_transitions::table::is_wanted(const vertex& v) const noexcept {
    const mig_places free = states->layout(v.state) & ~pinned & ~v.movable;
    if ((free & wanted) == 0) return false;
    return states->multiset_of(states->find(v.movable).value_or(0)) == movable_multiset; // none is waiting
}

template <class Use>
void mig_transitions::table::for_each_edge(const vertex& v, Use&& use) const {
    const mig_places layout = states->layout(v.state);
    const mig_places free = layout & ~pinned & ~v.movable;
    const auto state_of = [this](mig_places changed) { return states->find(changed).value_or(0); };
    const auto pods_may_be = [&](mig_places movable) { return possible[states->multiset_of(state_of(movable))]; };
    const mig_step_costs& costs = owner->costs_;
    for_each_bit(free, [&](std::size_t place) {
        const std::size_t profile = states->profile_of(place);
        if (may_wait && pods_may_be(v.movable | bit_at(place))) {
            const std::int64_t takes = owner->move_costs_[profile].count();
            use(edge{mig_step_kind::restore,
                     place,
                     0,
                     {v.state, v.movable | bit_at(place), v.moves_left},
                     takes - takes / 2});
        }
        use(edge{mig_step_kind::destroy,
                 place,
                 0,
                 {state_of(layout & ~bit_at(place)), v.movable, v.moves_left},
                 costs.destroy.count()});
        if (v.moves_left == 0) return;
        for_each_bit(v.movable & states->places_of(profile), [&](std::size_t from) {
            const mig_places moved = (v.movable & ~bit_at(from)) | bit_at(place);
            use(edge{mig_step_kind::move,
                     place,
                     from,
                     {v.state, moved, v.moves_left - 1},
                     owner->move_costs_[profile].count()});
        });
    });
    for_each_bit(states->joinable(v.state) & useful, [&](std::size_t place) {
        use(edge{mig_step_kind::create,
                 place,
                 0,
                 {state_of(layout | bit_at(place)), v.movable, v.moves_left},
                 costs.create.count()});
    });
    if (!may_wait || v.moves_left == 0) return;
    for_each_bit(v.movable, [&](std::size_t place) {
        const std::int64_t takes = owner->move_costs_[states->profile_of(place)].count();
        use(edge{mig_step_kind::save, place, 0, {v.state, v.movable & ~bit_at(place), v.moves_left - 1}, takes / 2});
    });
}

void mig_transitions::table::find_distances() {
    const auto layers = static_cast<std::size_t>(moves_max) + 1;
    const std::size_t vertices = arrangements.size() * layers;
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    std::vector<edge_length> lengths;
    const auto add = [&](std::size_t from, std::size_t to, std::int64_t length) {
        edges.emplace_back(from, to);
        lengths.push_back({length});
    };
    // One more vertex stands for all that are wanted, and every edge leads from the end of a step to its beginning: one
    // search finds how far every vertex is from the nearest wanted one.
    for (std::size_t state = 0; state < states->size(); ++state) {
        for (std::size_t a = first[state]; a < first[state + 1]; ++a) {
            for (std::int64_t left = 0; left <= moves_max; ++left) {
                const vertex v{state, arrangements[a], left};
                const std::size_t index = a * layers + static_cast<std::size_t>(left);
                if (is_wanted(v)) add(vertices, index, 0);
                for_each_edge(v, [&](const edge& step) { add(index_of(step.to), index, step.ticks); });
            }
        }
    }
    const reversed_graph graph{boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), lengths.begin(),
                               vertices + 1};
    distance.assign(vertices + 1, unreachable);
    boost::dijkstra_shortest_paths(
        graph, vertices,
        boost::weight_map(boost::get(&edge_length::ticks, graph))
            .distance_map(boost::make_iterator_property_map(distance.begin(), boost::get(boost::vertex_index, graph)))
            .distance_inf(unreachable));
    distance.pop_back();
}

mig_transitions::mig_transitions(gpu_layouts states, const mig_step_costs& costs)
    : states_{std::move(states)}, costs_{costs} {
    for (const mig_profile& profile : states_.model().profiles) {
        const mib memory = memory_moved(states_.model(), profile);
        move_costs_.push_back(costs.restart + copy_time(memory, costs.copy_mib_per_s) * 2);
    }
}

mig_transitions::mig_transitions(mig_transitions&& other) noexcept
    : states_{std::move(other.states_)}, costs_{other.costs_}, move_costs_{std::move(other.move_costs_)} {}

mig_transitions& mig_transitions::operator=(mig_transitions&& other) noexcept {
    tables_.clear(); // they point at what they were made from
    entries_ = 0;
    states_ = std::move(other.states_);
    costs_ = other.costs_;
    move_costs_ = std::move(other.move_costs_);
    return *this;
}

mig_transitions::~mig_transitions() = default;

expected<mig_transitions> mig_transitions::make(const mig_model& model, const mig_step_costs& costs) {
    if (const auto right = check_costs(costs); !right) return unexpected(right.error());
    auto states = gpu_layouts::make(model);
    if (!states) return unexpected(states.error());
    return mig_transitions{*std::move(states), costs};
}

const mig_transitions::table& mig_transitions::table_for(const table_key& key) {
    const auto known = tables_.find(key);
    if (known != tables_.end()) return *known->second;
    auto added = std::make_unique<const table>(*this, key);
    if (entries_ + added->entries() > entries_max) {
        tables_.clear();
        entries_ = 0;
    }
    entries_ += added->entries();
    return *tables_.emplace(key, std::move(added)).first->second;
}

expected<std::optional<mig_transition>> mig_transitions::plan(const mig_live_state& live, mig_places wanted,
                                                              const mig_transition_options& options) {
    if (const auto right = check_live(states_, live, options); !right) return unexpected(right.error());
    const mig_places pinned = options.moves_max == 0 ? live.busy : live.pinned;
    const mig_places movable = live.busy & ~pinned;
    const bool any_moves = movable != 0;
    const std::size_t multiset = states_.multiset_of(states_.find(movable).value_or(0));
    const table& known =
        table_for({pinned, multiset, wanted, any_moves ? options.moves_max : 0, any_moves && options.may_wait});

    table::vertex at{states_.find(live.instances).value_or(0), movable, options.fewest_moves ? 0 : known.moves_max};
    std::int64_t left = known.distance[known.index_of(at)];
    while (left == unreachable && at.moves_left < known.moves_max) {
        ++at.moves_left;
        left = known.distance[known.index_of(at)];
    }
    if (left == unreachable) return std::nullopt;
    mig_transition result;
    result.cost = ticks{left};
    ticks now;
    std::vector<ticks> waiting_since; // which saved pod is restored does not matter to the sum
    while (left > 0) {
        std::optional<table::edge> best;
        const auto rank = [this](const table::edge& step) {
            constexpr std::array<int, 5> order{1, 2, 3, 4, 0};
            const int further = step.kind == mig_step_kind::create ? std::popcount(states_.joinable(step.to.state)) : 0;
            return std::tuple{order[static_cast<std::size_t>(step.kind)], -further, step.place, step.from};
        };
        known.for_each_edge(at, [&](const table::edge& step) {
            const std::int64_t rest = known.distance[known.index_of(step.to)];
            if (rest == unreachable || rest + step.ticks != left) return;
            if (!best || rank(step) < rank(*best)) best = step;
        });
        VGA_ASSERT(best.has_value(), "a step leads on from every vertex that reaches a wanted one");
        const mig_place& place = states_.places()[best->place];
        const mig_profile& profile = states_.model().profiles[place.slot.profile];
        mig_step step{.kind = best->kind,
                      .profile = place.slot.profile,
                      .profile_id = profile.profile_id,
                      .start = place.slot.start,
                      .size = place.size,
                      .from = std::nullopt,
                      .takes = ticks{best->ticks}};
        switch (best->kind) {
        case mig_step_kind::move:
            step.from = states_.places()[best->from].slot.start;
            result.downtime += step.takes;
            ++result.moves;
            break;
        case mig_step_kind::save:
            waiting_since.push_back(now);
            ++result.moves;
            break;
        case mig_step_kind::restore:
            result.downtime += now + step.takes - waiting_since.back();
            waiting_since.pop_back();
            break;
        case mig_step_kind::create:
        case mig_step_kind::destroy:
            break;
        }
        now += step.takes;
        left -= best->ticks;
        at = best->to;
        result.steps.push_back(step);
    }
    result.after = {.instances = states_.layout(at.state), .busy = pinned | at.movable, .pinned = live.pinned};
    result.place = lowest_bit(result.after.instances & ~result.after.busy & wanted);
    return result;
}

} // namespace vgpualloc::plan
