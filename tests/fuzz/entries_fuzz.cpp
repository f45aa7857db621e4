// The entry points that programs call with values of their own: registrations, nodes, requests, bookings and spellings
// of policies with any amounts and texts. What is wrong with them is an answer, never the end of the program.
#include "fuzz.hpp"

#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/model/limits.hpp"

namespace {

using fuzzing::byte_reader;
using fuzzing::require;
using namespace vgpualloc;

/// Amounts at the borders of what the library takes and of 64 bits, and ordinary ones.
std::int64_t draw_amount(byte_reader& bytes) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    static const std::vector<std::int64_t> borders{least,
                                                   most,
                                                   -1,
                                                   0,
                                                   1,
                                                   100,
                                                   101,
                                                   devices_per_node_max,
                                                   device_memory_max.count(),
                                                   device_memory_max.count() + 1,
                                                   device_cores_max.count(),
                                                   device_slots_max,
                                                   device_slots_max + 1,
                                                   ai_units_max,
                                                   memory_factor_max,
                                                   memory_factor_max + 1,
                                                   memory_percent_max,
                                                   host_memory_max.count(),
                                                   host_memory_max.count() + 1,
                                                   host_cpu_max.count(),
                                                   host_cpu_max.count() + 1,
                                                   std::int64_t{1} << 32U};
    const std::uint8_t which = bytes.byte();
    if (which >= 224) return bytes.one_of(borders);
    if (which >= 128) return 1024 * static_cast<std::int64_t>(bytes.byte());
    return which;
}

std::string draw_text(byte_reader& bytes) {
    static const std::vector<std::string> texts{
        "",        "NVIDIA", "A100-SXM4-40GB", "Ascend910B4", "Ascend310P",
        "1g.5gb",  "GPU-1",  "GPU-2",          "zone",        "a",
        "\xff\n,", "-1",     "3g.20gb",        "310P3",       std::string(3, '\0')};
    return bytes.one_of(texts);
}

std::string draw_mode(byte_reader& bytes) {
    const std::size_t which = bytes.below(all_modes().size() + 2);
    if (which < all_modes().size()) return std::string{all_modes()[which]->name()};
    return which == all_modes().size() ? "" : "no_such_mode";
}

template <class Draw>
auto draw_list(byte_reader& bytes, std::size_t most, Draw&& draw) {
    std::vector<decltype(draw(bytes))> list;
    for (std::size_t left = bytes.below(most + 1); left > 0; --left) list.push_back(draw(bytes));
    return list;
}

mig_group draw_group(byte_reader& bytes) {
    return {.name = draw_text(bytes),
            .kinds = draw_list(bytes, 3, [](byte_reader& from) {
                return mig_kind{.name = draw_text(from), .memory = mib{draw_amount(from)}, .count = draw_amount(from)};
            })};
}

mig_offer draw_offer(byte_reader& bytes) {
    mig_offer result;
    result.name = draw_text(bytes);
    result.memory = mib{draw_amount(bytes)};
    result.cores = core_percent{draw_amount(bytes)};
    result.compute_slices = draw_amount(bytes);
    result.size = draw_amount(bytes);
    result.starts = draw_list(bytes, 4, draw_amount);
    return result;
}

npu_kind draw_npu(byte_reader& bytes) {
    npu_kind result;
    result.name = draw_text(bytes);
    result.memory_allocatable = mib{draw_amount(bytes)};
    result.memory_capacity = mib{draw_amount(bytes)};
    result.ai_core = draw_amount(bytes);
    result.ai_cpu = draw_amount(bytes);
    result.templates = draw_list(bytes, 3, [](byte_reader& from) {
        return npu_template{.name = draw_text(from),
                            .memory = mib{draw_amount(from)},
                            .ai_core = draw_amount(from),
                            .ai_cpu = draw_amount(from)};
    });
    return result;
}

device_registration draw_registration(byte_reader& bytes, std::size_t position) {
    device_registration result;
    result.uuid = bytes.chance(8) ? draw_text(bytes) : "d" + std::to_string(position);
    result.model = draw_text(bytes);
    result.family = draw_text(bytes);
    result.mode = draw_mode(bytes);
    result.memory = mib{draw_amount(bytes)};
    if (bytes.chance(4)) result.cores = core_percent{draw_amount(bytes)};
    result.slots = draw_amount(bytes);
    result.healthy = !bytes.chance(8);
    if (bytes.chance(4)) result.link_group = static_cast<std::int32_t>(draw_amount(bytes));
    if (bytes.chance(4)) result.geometry = draw_list(bytes, 3, draw_group);
    if (bytes.chance(4)) result.offers = draw_list(bytes, 3, draw_offer);
    if (bytes.chance(4)) result.memory_factor = draw_amount(bytes);
    if (result.mode == "ascend_vir") result.npu = draw_npu(bytes);
    result.soft = bytes.chance(4);
    return result;
}

device_request draw_device_request(byte_reader& bytes) {
    device_request result;
    result.count = draw_amount(bytes);
    if (bytes.chance(2)) result.memory = mib{draw_amount(bytes)};
    if (bytes.chance(3)) result.memory_percent = draw_amount(bytes);
    result.memory_of_first = bytes.chance(8);
    if (bytes.chance(2)) result.cores = core_percent{draw_amount(bytes)};
    if (bytes.chance(4)) result.family = draw_text(bytes);
    if (bytes.chance(4)) result.models = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.types_allowed = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.types_denied = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.uuids_allowed = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.uuids_denied = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.mode = draw_mode(bytes);
    if (bytes.chance(4)) result.profile = draw_text(bytes);
    result.soft = bytes.chance(4);
    result.dvpp = static_cast<dvpp_use>(bytes.below(3));
    result.high_level = bytes.chance(4);
    return result;
}

pod_request draw_request(byte_reader& bytes) {
    pod_request result;
    result.cpu = milli_cpu{draw_amount(bytes)};
    result.memory = bytes.chance(2) ? vgpualloc::bytes{draw_amount(bytes)} : vgpualloc::bytes{};
    result.containers = draw_list(bytes, 3, draw_device_request);
    if (bytes.chance(4)) result.tags = draw_list(bytes, 2, draw_text);
    if (bytes.chance(4)) result.avoids = draw_list(bytes, 2, draw_text);
    result.containers_apart = bytes.chance(4);
    result.one_link_group = bytes.chance(4);
    if (bytes.chance(4)) {
        result.rules.has_affinity = true;
        result.rules.affinity.push_back({.labels = {{.key = draw_text(bytes),
                                                     .op = static_cast<label_operator>(bytes.below(6)),
                                                     .values = draw_list(bytes, 2, draw_text)}}});
    }
    if (bytes.chance(4)) result.rules.node_selector.emplace_back(draw_text(bytes), draw_text(bytes));
    if (bytes.chance(4)) result.rules.tolerations.push_back({.key = draw_text(bytes), .any_value = bytes.chance(2)});
    return result;
}

node draw_node(byte_reader& bytes, device_kinds& kinds, std::size_t number) {
    node result{.name = bytes.chance(8) ? draw_text(bytes) : "n" + std::to_string(number),
                .cpu = milli_cpu{draw_amount(bytes)},
                .memory = vgpualloc::bytes{draw_amount(bytes)}};
    if (bytes.chance(4)) result.pods_max = draw_amount(bytes);
    if (bytes.chance(4)) result.host.labels.emplace_back(draw_text(bytes), draw_text(bytes));
    if (bytes.chance(8)) result.host.taints.push_back({.key = draw_text(bytes), .value = draw_text(bytes)});
    for (std::size_t left = bytes.below(5); left > 0; --left) {
        const auto device = draw_registration(bytes, left);
        const auto added = add_device(kinds, result, device, built_in_mig_catalog());
        if (!added) fuzzing::require_readable(added.error());
    }
    return result;
}

partition draw_part(byte_reader& bytes) {
    switch (bytes.below(4)) {
    case 0:
        return slice{.memory = mib{draw_amount(bytes)}, .cores = core_percent{draw_amount(bytes)}};
    case 1:
        return mig_instance{.profile = bytes.byte(), .start = bytes.byte(), .cores = core_percent{draw_amount(bytes)}};
    case 2:
        return vir_template{.index = bytes.byte(),
                            .memory = mib{draw_amount(bytes)},
                            .cores = core_percent{draw_amount(bytes)},
                            .group = bytes.byte()};
    default:
        return whole_device{};
    }
}

placement draw_placement(byte_reader& bytes) {
    placement result;
    result.node = node_index{bytes.below(5)};
    for (std::size_t left = bytes.below(4); left > 0; --left) {
        result.shares.push_back({.container = static_cast<std::uint32_t>(bytes.below(3)),
                                 .device = device_index{bytes.below(6)},
                                 .part = draw_part(bytes)});
    }
    return result;
}

std::unique_ptr<policy> draw_policy(byte_reader& bytes, const pod_request& typical) {
    static const std::vector<std::string> spellings{
        "best_fit", "binpack", "fgd", "random", "spread", "worst_fit", "weighted:fgd=0.5,binpack=-2", "weighted:", "x"};
    policy_parameters parameters;
    if (check_request(typical)) {
        parameters.target.typical.push_back({.cpu = typical.cpu, .containers = typical.containers, .frequency = 1.0});
    }
    auto made = make_policy(bytes.one_of(spellings), parameters);
    if (made) return *std::move(made);
    fuzzing::require_readable(made.error());
    return make_policy("binpack", parameters).value();
}

/// What a program does with a cluster and a request.
class session {
public:
    session(cluster nodes, byte_reader& bytes, const pod_request& typical)
        : bytes_{&bytes}, book_{std::move(nodes)}, policy_{draw_policy(bytes, typical)},
          decides_{book_, {.node = policy_.get(), .device = policy_.get()}} {}

    void ask(const pod_request& request) {
        for (std::size_t n = 0; n <= book_.nodes().nodes.size(); ++n) {
            static_cast<void>(decides_.ask_node(node_index{n}, request));
        }
        static_cast<void>(decides_.score_placement(*policy_, request, draw_placement(*bytes_)));
        const auto known = decides_.intern(request);
        if (!known) return fuzzing::require_readable(known.error());
        require(decides_.evaluate(*known).size() == book_.nodes().nodes.size(), "every node answers");
        const pod_id pod{bytes_->one_of<std::uint32_t>({0, 1, 2, 3, pod_index_max, ~0U})};
        const auto decided = decides_.decide(*known);
        const auto placed = decides_.place(book_, pod, *known);
        if (placed) {
            require(decided.has_value() && book_.is_committed(pod), "a pod is placed where it fits");
            static_cast<void>(decides_.score_placement(*policy_, request, *placed));
        }
        book_.check();
    }
    void book() {
        booking entry{.owner = pod_id{bytes_->below(6)},
                      .cpu = milli_cpu{draw_amount(*bytes_)},
                      .memory = vgpualloc::bytes{draw_amount(*bytes_)},
                      .where = draw_placement(*bytes_)};
        if (bytes_->chance(2)) {
            static_cast<void>(book_.adopt(std::move(entry)).has_value());
        } else {
            static_cast<void>(book_.reserve(std::move(entry)).has_value());
        }
        book_.check();
    }
    void change_node() {
        const std::size_t number = bytes_->below(5);
        const node described = draw_node(*bytes_, book_.kinds(), number);
        const auto updated = book_.update_node(node_index{number}, described);
        if (!updated) fuzzing::require_readable(updated.error());
        const auto added = book_.add_node(described);
        if (!added) fuzzing::require_readable(added.error());
        book_.check();
    }
    void release() {
        const pod_id pod{bytes_->below(6)};
        static_cast<void>(book_.commit(pod).has_value());
        static_cast<void>(book_.release(pod).has_value());
        book_.check();
    }

private:
    byte_reader* bytes_;
    ledger book_;
    std::unique_ptr<policy> policy_;
    allocator decides_;
};

} // namespace

void fuzzing::fuzz(std::string_view input) {
    byte_reader bytes{input};
    cluster nodes;
    for (std::size_t left = bytes.below(4); left > 0; --left) {
        nodes.nodes.push_back(draw_node(bytes, nodes, left));
        if (!check_node(nodes.nodes.back())) nodes.nodes.pop_back();
    }
    const auto checked = check_cluster(nodes);
    if (!checked) return require_readable(checked.error());
    const pod_request typical = draw_request(bytes);
    session program{std::move(nodes), bytes, typical};
    program.ask(typical);
    constexpr int steps_max = 24;
    for (int i = 0; i < steps_max && !bytes.empty(); ++i) {
        switch (bytes.below(4)) {
        case 0:
            program.ask(draw_request(bytes));
            break;
        case 1:
            program.book();
            break;
        case 2:
            program.change_node();
            break;
        default:
            program.release();
            break;
        }
    }
}
