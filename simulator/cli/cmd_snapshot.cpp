// vgpusim snapshot: the objects of a cluster as one file that every command reads, and whether they add up.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuops/snapshot/anonymise.hpp"
#include "vgpuops/snapshot/audit.hpp"
#include "vgpuops/snapshot/normalise.hpp"

namespace vgpusim::cli {

namespace {

namespace kube = vgpualloc::kube;

struct snapshot_options {
    std::vector<std::string> cluster;
    dialect_files dialects;
    std::string out;
    bool anonymise = false;
    bool json = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", cluster);
        add_inputs(named, dialects);
        return named;
    }
};

/// The same objects twice: as they are read, and as they are written.
struct cluster_texts {
    std::vector<kube::manifest> manifests{};
    std::vector<document> documents{};
};

cluster_texts load_cluster(const std::vector<std::string>& files) {
    cluster_texts all;
    for (const std::string& path : files) {
        const auto input = vgpuformats::read_input(path); // standard input can be read once
        if (!input) end_with(kube::with_export_advice(input.error()));
        std::ranges::move(or_end(kube::read_manifests(input->text, path)), std::back_inserter(all.manifests));
        std::ranges::move(or_end(vgpuops::snapshots::cluster_documents(input->text, path)),
                          std::back_inserter(all.documents));
    }
    return all;
}

/// A mistake of ours, and none of the input.
error not_the_same(const std::string& what) {
    return bad_value(error_code::mismatch, "snapshot", what,
                     "the same in the file that would be written; nothing was written")
        .at("internal error");
}

/// What is read of the list that would be written.
struct read_list {
    std::vector<kube::manifest> objects;
    kube::snapshot state;
};

expected<read_list> read_again(const document& list, const vgpualloc::dialect_set& dialects) {
    auto manifests = vgpuops::snapshots::manifests_of(list, "snapshot");
    if (!manifests) return unexpected(manifests.error());
    auto state = kube::make_snapshot(*manifests, dialects);
    if (!state) return unexpected(state.error());
    return read_list{.objects = *std::move(manifests), .state = *std::move(state)};
}

/// The objects to be written, after reading them again and comparing with what they were made of.
expected<document> checked_list(const cluster_texts& objects, const kube::snapshot& state,
                                const vgpualloc::dialect_set& dialects, bool anonymise) {
    auto list = vgpuops::snapshots::normalised(objects.documents, dialects);
    auto again = read_again(list, dialects);
    if (!again) return unexpected(again.error());
    if (const std::string other = vgpuops::snapshots::difference_of(state, again->state); !other.empty()) {
        return unexpected(not_the_same(other));
    }
    if (!anonymise) return list;
    auto nameless = vgpuops::snapshots::anonymised(list, again->state);
    auto read = read_again(nameless, dialects);
    if (!read) return unexpected(read.error());
    if (const std::string other = vgpuops::snapshots::other_object(again->objects, read->objects); !other.empty()) {
        return unexpected(not_the_same(other));
    }
    if (const std::string other = vgpuops::snapshots::decided_otherwise(again->state, read->state); !other.empty()) {
        return unexpected(not_the_same(other));
    }
    return nameless;
}

void write_snapshot(const snapshot_options& chosen, const std::string& text) {
    const output_place place = or_end(place_of(chosen.out, "--out"));
    keep_inputs(place, chosen.out, "--out", chosen.inputs());
    or_end(vgpuformats::write_files(place.folder, {{.name = place.name, .content = text}}));
}

void run(const snapshot_options& chosen) {
    read_stdin_once(chosen.inputs());
    if (!chosen.out.empty()) static_cast<void>(or_end(place_of(chosen.out, "--out")));
    input_reader from{files_here()};
    const vgpualloc::dialect_set dialects{or_end(load_dialects(chosen.dialects, from))};
    const cluster_texts objects = load_cluster(chosen.cluster);
    or_end(check_nodes(objects.manifests, chosen.cluster));
    const auto state = or_end(kube::make_snapshot(objects.manifests, dialects));
    const auto list = checked_list(objects, state, dialects, chosen.anonymise);
    if (!list) end_with(list.error(), exit_failed);
    const auto audited = vgpuops::snapshots::audit_of(objects.manifests, state);
    const std::string report =
        chosen.json ? vgpuops::snapshots::audit_json(audited, state) : vgpuops::snapshots::audit_text(audited, state);
    if (!chosen.out.empty()) write_snapshot(chosen, vgpuops::snapshots::file_text(*list));
    fmt::print("{}", report);
}

} // namespace

void add_snapshot(CLI::App& app) {
    auto chosen = std::make_shared<snapshot_options>();
    CLI::App* command =
        app.add_subcommand("snapshot", "Write a cluster to one file, and check the ledger against the annotations");
    command
        ->add_option("CLUSTER", chosen->cluster,
                     "Nodes, pods and ConfigMaps, YAML or JSON, as kubectl get nodes,pods,configmaps -A -o json prints "
                     "them; - is standard input")
        ->type_name("FILE")
        ->check(not_empty)
        ->required();
    add_dialect_files(*command, chosen->dialects);
    CLI::Option* out = add_filled(*command, "--out", chosen->out, "FILE",
                                  "Write the cluster's objects there, as every command reads them");
    command
        ->add_flag("--anonymise", chosen->anonymise,
                   "Write pseudonyms for all names: every decision stays the same. What is printed has the names")
        ->needs(out);
    command->add_flag("--json", chosen->json, "What is said as JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
