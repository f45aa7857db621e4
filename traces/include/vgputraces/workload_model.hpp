// Synthetic workloads of every sharing mode, made from a JSON model and a seed: nodes and classes of pods as Kubernetes
// objects, and a table of arrivals (docs/trace-model.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpuformats/files.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/device_parts.hpp"
#include "vgputraces/generator.hpp"

namespace vgputraces {

/// The four files of a workload, as texts, and what there is in them.
struct generated_workload {
    std::string nodes;   ///< JSON list of Node objects, and of ConfigMaps where components say more of devices in these
    std::string classes; ///< manifests, YAML
    std::string arrivals; ///< CSV
    std::string model;    ///< the model with the seed and the counts that were used: it makes the same again
    std::int64_t node_count = 0;
    std::int64_t device_count = 0;
    std::int64_t pod_rows = 0;                ///< rows of the table
    std::vector<std::int64_t> rows_per_class; ///< in the order of the model
    ticks last_arrival;
    std::uint64_t seed = 0;
};

/// The same with the table of arrivals as it is written: of ten million rows the text alone takes 700 MB.
struct streamed_workload {
    generated_workload texts; ///< but for the arrivals
    vgpuformats::piece_source arrivals;
};

/// What one row of a class asks for.
struct class_demand {
    /// Of all its devices, each of the smallest kind that serves it. Of a MIG instance: memory slices, compute slices.
    device_parts share;
    std::string profile; ///< of MIG, asked for by name; empty: the manifest says all
};

/// How a class says which MIG profile it wants. Manifests of HAMi name profiles by their memory, so that of two with
/// the same memory only one can be asked for; a workload that does not go through files can ask for any.
enum class profile_wish : bool { by_memory, by_name };

/// A workload as values.
struct drawn_workload {
    generated_workload texts; ///< but for the arrivals
    arrival_table arrivals;
    std::vector<class_demand> demands; ///< in the order of arrivals.classes
    std::size_t warm_up_rows = 0;      ///< that come before what is measured
};

/// Draws the workload of a model without writing its arrivals as text. `dialects` says how components are configured.
/// Errors: those of generate_workload.
[[nodiscard]] expected<drawn_workload> draw_workload(std::string_view json_text, const std::string& where,
                                                     const generate_options& options,
                                                     const vgpualloc::hardware_catalog& catalog,
                                                     const vgpualloc::dialect_set& dialects, profile_wish profiles);

/// Whether a model says that it is one of these: "format": "kubernetes".
[[nodiscard]] bool is_workload_model(std::string_view json_text);

/// Makes the workload of a model. Node objects are what the device plugins of their dialects register, and are read
/// back, as the classes are. Same model, options and seed: same bytes on every platform. Errors, with `where` and line:
/// what docs/trace-model.md says of models; unsupported for the options that are of the other kind of models.
[[nodiscard]] expected<generated_workload> generate_workload(std::string_view json_text, const std::string& where,
                                                             const generate_options& options);
[[nodiscard]] expected<streamed_workload> stream_workload(std::string_view json_text, const std::string& where,
                                                          const generate_options& options);

} // namespace vgputraces
