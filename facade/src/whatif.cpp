#include "vgpufacade/whatif.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cluster_objects.hpp"
#include "no_pods.hpp"
#include "start_replays.hpp"
#include "vgpuops/whatif/changed_cluster.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpufacade {

using vgpusim::input_reader;

namespace {

error malformed(const std::string& option, const std::string& value, const std::string& expected_text) {
    return bad_value(error_code::malformed, "", value, expected_text).at(option);
}

/// The two sides of the last '=' of a text.
expected<std::pair<std::string, std::string>> sides_of(const std::string& option, const std::string& text,
                                                       const std::string& expected_text) {
    const auto equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        return unexpected(malformed(option, text, expected_text));
    }
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

/// The slash before a device. A name or a glob ends with the first one, as uuids may have more; behind a label's value
/// it is the last one (topology.kubernetes.io/zone=b/0), and behind "!label" only that before a number.
std::size_t slash_of(const std::string& text) {
    const auto operation = text.find_last_of("=!() ");
    if (operation == std::string::npos) return text.find('/');
    const auto slash = text.rfind('/');
    if (slash == std::string::npos || slash < operation) return std::string::npos;
    const bool is_number = text.find_first_not_of("0123456789", slash + 1) == std::string::npos;
    return text[operation] != '!' || is_number ? slash : std::string::npos;
}

expected<void> read_changes(whatif_question& chosen) {
    auto& wanted = chosen.asked.wanted;
    std::int64_t nodes_added = 0;
    for (const std::string& text : chosen.add_nodes) {
        const auto sides = sides_of("--add-nodes", text, "KIND=N");
        if (!sides) return unexpected(sides.error());
        const std::string& digits = sides->second;
        vgpuops::whatif::node_addition entry{.kind = sides->first};
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), entry.nodes);
        const bool whole = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
        if (!whole || entry.nodes < 0 || entry.nodes > vgpuops::whatif::nodes_added_max - nodes_added) {
            return unexpected(
                malformed("--add-nodes", text,
                          fmt::format("KIND=N, with at most {} nodes in all", vgpuops::whatif::nodes_added_max)));
        }
        nodes_added += entry.nodes;
        wanted.added_nodes.push_back(std::move(entry));
    }
    for (const std::string& text : chosen.failed) {
        const auto slash = slash_of(text);
        if (slash == 0 || (slash != std::string::npos && slash + 1 == text.size())) {
            return unexpected(malformed("--fail", text, "NODES or NODES/DEVICE"));
        }
        wanted.failed.push_back({.node = text.substr(0, slash),
                                 .device = slash == std::string::npos ? std::string{} : text.substr(slash + 1)});
    }
    for (const std::string& text : chosen.modes) {
        const auto sides = sides_of("--set-mode", text, "NODES=MODE or NODES=mig:LAYOUT");
        if (!sides) return unexpected(sides.error());
        const std::string& mode = sides->second;
        const auto colon = mode.find(':');
        if (colon + 1 == mode.size()) {
            return unexpected(malformed("--set-mode", text, "NODES=MODE or NODES=mig:LAYOUT, with a name of a layout"));
        }
        wanted.modes.push_back({.node = sides->first,
                                .mode = mode.substr(0, colon),
                                .layout = colon == std::string::npos ? std::string{} : mode.substr(colon + 1)});
    }
    return {};
}

/// The objects of files that are to have pods. What of them cannot be read is an error here: it was written to be
/// tried.
expected<void> read_added_pods(whatif_question& chosen, input_reader& from) {
    auto objects = load_objects(chosen.add_pods, from);
    if (!objects) return unexpected(objects.error());
    bool has_pods = false;
    for (const auto& object : *objects) {
        if (!object.problems.empty()) return unexpected(object.problems.front());
        has_pods = has_pods || object.pod.has_value();
    }
    if (!has_pods && !chosen.add_pods.empty()) {
        return unexpected(no_pods(*objects, "--add-pods: " + vgpuformats::joined(chosen.add_pods)));
    }
    chosen.asked.wanted.added_pods = *std::move(objects);
    return {};
}

/// Error missing where the files have no node.
expected<std::vector<vgpualloc::kube::manifest>> read_templates(const std::vector<std::string>& files,
                                                                input_reader& from) {
    auto objects = load_objects(files, from);
    if (!objects || files.empty()) return objects;
    const auto is_node = [](const vgpualloc::kube::manifest& object) { return object.node.has_value(); };
    if (std::ranges::any_of(*objects, is_node)) return objects;
    return unexpected(
        none_of_kind(*objects, "an object of kind Node", "--node-template: " + vgpuformats::joined(files)));
}

/// A question whose inputs are read.
struct read_question {
    vgpusim::shared_objects objects;
    vgpualloc::dialect_set dialects;
    vgpuops::whatif::question asked;
};

/// Policies that have heard of the pods of a cluster at which they look.
struct learned_of_start {
    std::shared_ptr<const vgpualloc::kube::snapshot> start;
    std::shared_ptr<const vgpualloc::owned_policies> learned;
};

/// What the question before about the same files has left: the cluster as it is read, and policies that know its pods.
/// Nothing, where the source keeps nothing.
void add_kept_start(const whatif_question& chosen, input_reader& from, const vgpusim::shared_objects& objects,
                    const vgpualloc::dialect_set& dialects, vgpuops::whatif::question& asked) {
    std::vector<std::string> files = chosen.cluster;
    for (const auto& more : {chosen.dialects.catalog, chosen.dialects.config})
        files.insert(files.end(), more.begin(), more.end());
    const std::string version = version_of(files, from);
    if (version.empty()) return;
    vgpuformats::kept_values& values = *from.source().kept();
    asked.start = values.find<vgpualloc::kube::snapshot>("start", version);
    if (!asked.start) {
        asked.start = vgpuops::whatif::read_start(*objects, dialects, from.stop()).value_or(nullptr);
        if (!asked.start) return; // the answer says why
        values.keep("start", version, asked.start);
    }
    if (asked.make_policies) return; // they are the caller's
    const std::string key = fmt::format("learned {} {} {}", asked.policy, asked.device_policy, asked.seed);
    auto known = values.find<learned_of_start>(key, version);
    if (!known || known->start != asked.start) {
        auto learned = learned_policies(*asked.start, asked);
        if (!learned || *learned == nullptr) return; // there is nothing to learn
        known = std::make_shared<const learned_of_start>(learned_of_start{asked.start, *std::move(learned)});
        values.keep(key, version, known);
    }
    asked.learned = known->learned;
}

expected<read_question> read(whatif_question chosen, const vgpuformats::input_source& source, const stop_signal& stop) {
    chosen.asked.stop = stop;
    if (auto changes = read_changes(chosen); !changes) return unexpected(changes.error());
    input_reader from{source, vgpusim::records_kept::none, stop};
    auto catalog = load_catalog(chosen.dialects.catalog, from);
    if (!catalog) return unexpected(catalog.error());
    auto config = load_dialects(*catalog, chosen.dialects.config, from);
    if (!config) return unexpected(config.error());
    chosen.asked.catalog = *std::move(catalog);
    // A cluster may consist of templates alone.
    auto objects =
        chosen.templates.empty() ? objects_with_nodes(chosen.cluster, from) : load_shared_objects(chosen.cluster, from);
    if (!objects) return unexpected(objects.error());
    if (auto pods = read_added_pods(chosen, from); !pods) return unexpected(pods.error());
    auto templates = read_templates(chosen.templates, from);
    if (!templates) return unexpected(templates.error());
    chosen.asked.templates = *std::move(templates);
    const vgpualloc::dialect_set dialects{*std::move(config)};
    add_kept_start(chosen, from, *objects, dialects, chosen.asked);
    return read_question{.objects = *std::move(objects), .dialects = dialects, .asked = std::move(chosen.asked)};
}

} // namespace

expected<vgpuops::whatif::answer> whatif(whatif_question question, const vgpuformats::input_source& source,
                                         const stop_signal& stop) {
    auto inputs = read(std::move(question), source, stop);
    if (!inputs) return unexpected(inputs.error());
    std::unique_ptr<vgpualloc::plan::lp_solver> solver; // a build without one has the bound by amounts
    if (!inputs->asked.find_kind.empty()) solver = vgpusim::find_solver("whatif", stop).value_or(nullptr);
    inputs->asked.solver = solver.get();
    return vgpuops::whatif::answer_of(*inputs->objects, inputs->dialects, std::move(inputs->asked));
}

namespace {

/// Replays the table from the cluster cut as in every row.
class layout_replays {
public:
    layout_replays(const read_question& inputs, const start_replays& table) : inputs_{&inputs}, table_{&table} {}

    expected<void> add_waits(vgpuops::whatif::layouts_found& layouts, std::size_t rows) {
        std::vector<std::vector<arrival_wait>> waits; // by row
        for (std::size_t i = 0; i < rows; ++i) {
            auto of_row = replay(layouts, layouts.rows[i]);
            if (!of_row) return unexpected(std::move(of_row).error());
            waits.push_back(*std::move(of_row));
        }
        // Rows evict other pods, which then wait at first: what all rows have are the rows of the table, at the end.
        const std::size_t common = table_->rows();
        std::vector<std::size_t> never;
        for (std::size_t pod = 0; pod < common; ++pod) {
            const auto is_never = [&](const auto& of_row) { return of_row[of_row.size() - common + pod].never; };
            if (std::ranges::all_of(waits, is_never)) never.push_back(pod);
        }
        for (std::size_t i = 0; i < rows; ++i) {
            const auto begin = waits[i].end() - static_cast<std::ptrdiff_t>(common);
            const counted_waits counted = count_waits({begin, waits[i].end()}, never);
            const auto quantile = [&](int percent) {
                return vgpusim::measure_of({.percent = percent}, counted.waits, counted.endless);
            };
            layouts.rows[i].waits = {.median = quantile(50), .p95 = quantile(95)};
        }
        layouts.replayed = static_cast<std::int64_t>(common - never.size());
        layouts.replayed_never = std::ssize(never);
        return {};
    }

private:
    expected<std::vector<arrival_wait>> replay(const vgpuops::whatif::layouts_found& layouts,
                                               const vgpuops::whatif::layout_row& row) const {
        vgpuops::whatif::changes wanted = inputs_->asked.wanted;
        for (std::size_t node = 0; node < layouts.nodes.size(); ++node) {
            if (row.layouts[node] == vgpuops::whatif::uncut) continue;
            wanted.modes.push_back({.node = layouts.nodes[node], .mode = "mig", .layout = row.layouts[node]});
        }
        const auto state =
            vgpuops::whatif::changed_cluster(*inputs_->objects, inputs_->dialects, wanted, inputs_->asked.stop);
        if (!state) return unexpected(state.error());
        const auto seed = static_cast<std::int64_t>(inputs_->asked.seed);
        auto start = table_->start_from(*state, *inputs_->objects, seed);
        if (!start) return unexpected(std::move(start).error());
        return table_->waits_from(*state, *std::move(start), seed, inputs_->asked.stop);
    }

    const read_question* inputs_;
    const start_replays* table_;
};

/// Refuses changes of which figures of layouts would not count all.
expected<void> check_beside_layouts(const whatif_question& question) {
    const auto refuse = [](const char* option, const std::string& value, const char* beside) {
        return unexpected(
            bad_value(error_code::unsupported, "", value, std::string{"none beside "} + beside).at(option));
    };
    if (!question.add_nodes.empty()) return refuse("--add-nodes", question.add_nodes.front(), "--find-layout");
    if (!question.modes.empty()) return refuse("--set-mode", question.modes.front(), "--find-layout");
    if (question.pods.empty()) return {};
    if (!question.add_pods.empty()) {
        return refuse("--add-pods", question.add_pods.front(),
                      "--find-layout with --pods: the table has the pods that come");
    }
    if (question.asked.wanted.anew) return refuse("--anew", "", "--find-layout with --pods");
    return {};
}

} // namespace

expected<vgpuops::whatif::layouts_found> find_layouts(whatif_question question, const vgpuformats::input_source& source,
                                                      const stop_signal& stop) {
    const std::string nodes = question.layouts_of;
    const replay_settings settings{.pods = question.pods,
                                   .classes = question.classes,
                                   .policy = question.asked.policy,
                                   .discipline = "gang",
                                   .start_ends = std::string{vgpusim::ends_drawn}};
    const bool lists_all = question.lists_all;
    const std::string cluster_name = question.cluster.empty() ? std::string{} : question.cluster.front();
    if (auto usable = check_beside_layouts(question); !usable) return unexpected(std::move(usable).error());
    auto inputs = read(std::move(question), source, stop);
    if (!inputs) return unexpected(inputs.error());
    const auto solver = vgpusim::find_solver("whatif", stop).value_or(nullptr);
    inputs->asked.solver = solver.get();
    auto layouts = vgpuops::whatif::find_layouts(*inputs->objects, inputs->dialects, inputs->asked, nodes);
    if (!layouts || settings.pods.empty()) return layouts;
    input_reader from{source, vgpusim::records_kept::none, stop};
    const auto cluster = vgpualloc::kube::make_snapshot(*inputs->objects, inputs->dialects, stop);
    if (!cluster) return unexpected(cluster.error());
    const auto table = start_replays::read(settings, cluster->dialects, from);
    if (!table) return unexpected(table.error());
    const auto start = table->start_from(*cluster, *inputs->objects, static_cast<std::int64_t>(inputs->asked.seed));
    if (!start) return unexpected(start.error());
    layouts->warnings = vgpusim::warnings_of(start->counts, cluster_name);
    const std::size_t rows =
        lists_all ? layouts->rows.size() : std::min(layouts->rows.size(), vgpuops::whatif::layouts_shown_max);
    if (auto added = layout_replays{*inputs, *table}.add_waits(*layouts, rows); !added) {
        return unexpected(std::move(added).error());
    }
    return layouts;
}

} // namespace vgpufacade
