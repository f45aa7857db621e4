// Inputs that may be compressed, and the openb lists: a node list and a pod list, after a line "---" in one input. What
// is read is written and read again as the same, and a small one is replayed.
#include "fuzz.hpp"

#include <algorithm>

#include "vgpuformats/input.hpp"
#include "vgpusim/study/run.hpp"
#include "vgputraces/openb.hpp"

namespace {

using fuzzing::memory_file;
using fuzzing::require;

constexpr std::string_view separator = "---\n";
/// Larger lists are read, but a replay of them would take long.
constexpr std::size_t replayed_max = 64;
constexpr int gpus_replayed_max = 64;

template <class Reader, class Writer>
auto read_list(std::string_view text, Reader&& reader, Writer&& writer) {
    auto list = reader(text, "input");
    if (!list) {
        fuzzing::require_readable(list.error());
        return list;
    }
    const auto again = reader(writer(*list), "written");
    require(again.has_value() && *again == *list, "a list is written as it was read");
    return list;
}

void replay(std::string_view node_list, std::string_view pod_list) {
    vgpuformats::memory_source source;
    source.add("nodes", node_list);
    source.add("pods", pod_list);
    vgpusim::run_config config;
    config.nodes = "nodes";
    config.pods = "pods";
    config.policy = pod_list.size() % 2 == 0 ? "fgd" : "compat:bestfit";
    config.mode = pod_list.size() % 3 == 0 ? "exclusive" : "hami_core";
    config.departures = pod_list.find("deletion_time") != std::string_view::npos;
    const auto loaded = vgpusim::load_input(config, source);
    if (!loaded) return fuzzing::require_readable(loaded.error());
    const auto record = vgpusim::replay(config, *loaded, loaded->input.nodes, {});
    if (!record) return fuzzing::require_readable(record.error());
    record->ledger->check();
    const auto& result = record->result;
    require(result.placed + result.failed == static_cast<std::int64_t>(result.pods.size()),
            "every pod is placed or has failed");
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    constexpr std::size_t bytes_max = std::size_t{1} << 20U;
    const auto read = vgpuformats::read_input(memory_file{input}.path(), {.bytes_max = bytes_max, .hashed = true});
    if (!read) return require_readable(read.error());
    const std::string_view text = read->text;
    const std::size_t cut = std::min(text.find(separator), text.size());
    const std::string_view node_list = text.substr(0, cut);
    const std::string_view pod_list = text.substr(std::min(cut + separator.size(), text.size()));
    const auto nodes = read_list(node_list, vgputraces::read_openb_nodes, vgputraces::write_openb_nodes);
    const auto read_pods = [](std::string_view list,
                              const std::string& name) -> vgpualloc::expected<std::vector<vgputraces::openb_pod>> {
        auto strict = vgputraces::read_openb_pods(list, name);
        const auto lenient = vgputraces::read_openb_pods(list, name, {.skip_bad = true});
        if (strict) {
            require(lenient && lenient->pods == strict->pods && lenient->skipped.count == 0, "no row is bad");
            return std::move(strict->pods);
        }
        if (lenient) {
            require(lenient->skipped.first.at(0).message() == strict.error().message(),
                    "the first bad row is the one that stops");
        }
        return vgpualloc::unexpected(strict.error());
    };
    const auto pods = read_list(pod_list, read_pods, vgputraces::write_openb_pods);
    if (!nodes || !pods || nodes->size() > replayed_max || pods->size() > replayed_max) return;
    const auto has_many = [](const vgputraces::openb_node& node) { return node.gpu_count > gpus_replayed_max; };
    if (std::ranges::none_of(*nodes, has_many)) replay(node_list, pod_list);
}
