// The file of how many clients MPS takes, and looking a limit up.
#include "vgpualloc/catalog/mps.hpp"

#include <array>
#include <optional>
#include <utility>

#include "built_in.hpp"
#include "file_checks.hpp"
#include "merging.hpp"

namespace vgpualloc {

namespace {

using vgpuformats::cursor;

constexpr vgpuformats::number_range version_numbers{.least = 0, .most = 1000};

std::optional<cuda_version> read_cuda(const cursor& in) {
    if (!in.has("cuda_least")) return std::nullopt;
    const auto numbers = in.at("cuda_least").items(2, 2);
    if (in.failed()) return std::nullopt;
    return cuda_version{.major_number = numbers[0].integer(version_numbers),
                        .minor_number = numbers[1].integer(version_numbers)};
}

mps_limit read_limit(const cursor& in) {
    in.only({"clients_max", "compute_major_least", "compute_major_most", "cuda_least", "provenance"});
    mps_limit limit{.clients_max = in.at("clients_max").integer(detail::positive_count),
                    .compute_major_least = in.maybe_integer("compute_major_least", version_numbers),
                    .compute_major_most = in.maybe_integer("compute_major_most", version_numbers),
                    .cuda_least = read_cuda(in),
                    .from = in.maybe_dictionary("provenance")};
    detail::check_provenance(in, limit.from,
                             {"clients_max", "compute_major_least", "compute_major_most", "cuda_least"});
    return limit;
}

bool holds(const mps_limit& limit, const std::optional<cuda_version>& cuda,
           const std::optional<std::int64_t>& compute_major) {
    // An empty optional is less than any value, so what nobody says is below every least and has to be kept from a
    // most.
    if (limit.compute_major_least && compute_major < limit.compute_major_least) return false;
    if (limit.compute_major_most && (!compute_major || compute_major > limit.compute_major_most)) return false;
    return !limit.cuda_least || cuda >= limit.cuda_least;
}

} // namespace

expected<mps_limits> read_mps_limits(const vgpuformats::document& file, std::string_view name) {
    std::optional<error> failure;
    const cursor root{file, name, failure};
    root.only({"schema", "sources", "clients_unsaid", "limits"});
    static constexpr std::array<std::string_view, 1> schemas{"vgpualloc-mps/1"};
    static_cast<void>(root.at("schema").one_of(schemas));
    mps_limits result;
    result.sources = root.maybe_dictionary("sources");
    result.clients_unsaid = root.at("clients_unsaid").integer(detail::positive_count);
    for (const cursor& item : root.at("limits").items(1)) result.limits.push_back(read_limit(item));
    if (failure) return unexpected(*std::move(failure));
    return result;
}

const mps_limits& built_in_mps_limits() {
    static const mps_limits limits =
        detail::well_formed(read_mps_limits(built_in::mps_limits(), "data/mps-limits.json"));
    return limits;
}

std::optional<std::int64_t> mps_clients_max(const mps_limits& limits, std::optional<cuda_version> cuda,
                                            std::optional<std::int64_t> compute_major) {
    for (const mps_limit& limit : limits.limits) {
        if (holds(limit, cuda, compute_major)) return limit.clients_max;
    }
    return std::nullopt;
}

} // namespace vgpualloc
