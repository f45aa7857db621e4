// The hami dialect: requests.
#include "vgpualloc/dialect/hami.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::dialect::hami {

namespace {

using kubernetes::value_of;

constexpr const char* mode_annotation = "nvidia.com/vgpu-mode";
constexpr std::int64_t percent_max = 100;

/// The amounts that a container names.
struct amounts {
    std::optional<std::int64_t> count, memory, percent, cores;

    [[nodiscard]] bool none() const { return !count && !memory && !percent && !cores; }
};

expected<amounts> read_amounts(const kubernetes::pod& of, const kubernetes::container& in, const options& with) {
    amounts found;
    const std::array<std::pair<const std::string*, std::optional<std::int64_t>*>, 4> fields{
        {{&with.count_name, &found.count},
         {&with.memory_name, &found.memory},
         {&with.memory_percentage_name, &found.percent},
         {&with.cores_name, &found.cores}}};
    for (const auto& [name, into] : fields) {
        const auto amount = hami_text::amount(of, in, *name);
        if (!amount) return unexpected(amount.error());
        *into = *amount;
    }
    if (found.percent.value_or(0) > percent_max) { // the webhook refuses such a pod
        return unexpected(error{.code = error_code::out_of_range,
                                .where = hami_text::place(of, "container", in.name),
                                .field = with.memory_percentage_name,
                                .value = std::to_string(*found.percent),
                                .expected = "a percentage from 0 to 100"});
    }
    return found;
}

/// Memory wins over percentage; an amount of 0 is as good as none.
void set_memory(device_request& asked, const amounts& from, const options& with) {
    if (from.memory.value_or(0) > 0) {
        asked.memory = mib{*from.memory * with.memory_factor};
    } else if (from.percent.value_or(0) > 0) {
        asked.memory_percent = from.percent;
    } else {
        asked.memory = with.memory_default;
    }
}

/// The mode that the annotation's list comes to; empty: any. Both modes of HAMi's device plugin together are any.
expected<std::string> read_mode(const kubernetes::pod& of) {
    const std::string& list = value_of(of.annotations, mode_annotation);
    bool core = false;
    bool mig = false;
    bool mps = false;
    for (const std::string& each : text::items(list)) {
        core = core || each == "hami-core";
        mig = mig || each == "mig";
        mps = mps || each == "mps";
        if (each == "hami-core" || each == "mig" || each == "mps") continue;
        return unexpected(error{.code = error_code::unknown_name,
                                .where = hami_text::place(of, "annotation", mode_annotation),
                                .field = "",
                                .value = each,
                                .expected = "hami-core, mig or mps"});
    }
    if (core && mig) return std::string{};
    if (mps && (core || mig)) {
        return unexpected(error{.code = error_code::unsupported,
                                .where = hami_text::place(of, "annotation", mode_annotation),
                                .field = "",
                                .value = list,
                                .expected = "one mode, or both hami-core and mig"});
    }
    if (core) return std::string{"hami_core"};
    if (mig) return std::string{mig_mode};
    return std::string{mps ? "mps" : ""};
}

/// What the annotations of a pod say for all its containers.
expected<device_request> read_filters(const kubernetes::pod& of) {
    device_request asked;
    auto mode = read_mode(of);
    if (!mode) return unexpected(std::move(mode).error());
    asked.mode = *std::move(mode);
    asked.family = family;
    asked.types_allowed = text::items(value_of(of.annotations, "nvidia.com/use-gputype"));
    asked.types_denied = text::items(value_of(of.annotations, "nvidia.com/nouse-gputype"));
    asked.uuids_allowed = text::items(value_of(of.annotations, "nvidia.com/use-gpuuuid"));
    asked.uuids_denied = text::items(value_of(of.annotations, "nvidia.com/nouse-gpuuuid"));
    return asked;
}

} // namespace

bool requests(const kubernetes::pod& of, const options& with) {
    return std::ranges::any_of(of.containers, [&with](const kubernetes::container& in) {
        const auto limited = [&in](const std::string& name) { return in.limits.contains(name); };
        if (limited(with.count_name) || in.requests.contains(with.count_name)) return true;
        return with.admission &&
               (limited(with.memory_name) || limited(with.memory_percentage_name) || limited(with.cores_name));
    });
}

expected<std::optional<device_request>> read_container(const kubernetes::pod& of, const kubernetes::container& in,
                                                       const options& with) {
    VGA_ASSERT(with.memory_factor >= 1 && with.memory_factor <= std::int64_t{1} << 20U, "a unit is 1 MiB to 1 TiB");
    auto from = read_amounts(of, in, with);
    if (!from) return unexpected(std::move(from).error());
    if (from->none() || (!from->count && !with.admission)) return std::nullopt;
    if (!from->count) from->count = with.count_default;
    if (*from->count == 0) return std::nullopt;
    auto asked = read_filters(of);
    if (!asked) return unexpected(std::move(asked).error());
    asked->count = *from->count;
    set_memory(*asked, *from, with);
    const bool all_memory = from->percent == percent_max || (!from->percent && !from->memory);
    const std::int64_t cores_default = with.admission && all_memory ? percent_max : with.cores_default.count();
    asked->cores = core_percent{std::min(from->cores.value_or(cores_default), percent_max)};
    return *std::move(asked);
}

expected<pod_request> read_pod(const kubernetes::pod& of, const options& with) {
    pod_request request;
    for (const kubernetes::container& in : of.containers) {
        auto asked = read_container(of, in, with);
        if (!asked) return unexpected(std::move(asked).error());
        if (*asked) request.containers.push_back(**std::move(asked));
    }
    return request;
}

} // namespace vgpualloc::dialect::hami
