// Generators.
#include "support.hpp"

#include "yielding_mode.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/compat/fgd/policies.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/mig_groups.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc::property {

namespace {

/// A multiple of `step` in [0, most].
std::int64_t amount(std::int64_t most, std::int64_t step) {
    return step * *rc::gen::inRange<std::int64_t>(0, most / step + 1);
}

bool chance(int one_in) { return *rc::gen::inRange(0, one_in) == 0; }

/// bid_price with few steps of its prices: how exact they are is nothing to what is compared here, and the
/// steps would be most of the time. The soak has all of them.
std::unique_ptr<policy> make_quick_bid_price(const policy_parameters& parameters) {
    return std::make_unique<policies::bid_price>(parameters,
                                                 bid_options{.descent_steps = 16, .descent_steps_turning = 16});
}

template <class Draw>
auto draw_list(int least, int most, Draw&& draw) {
    std::vector<decltype(draw())> list;
    const int count = *rc::gen::inRange(least, most + 1);
    for (int i = 0; i < count; ++i) list.push_back(draw());
    return list;
}

int least_of(const world_kind& bounds, int most) { return bounds.large ? most : 1; }

/// Up to five kinds; a node has one kind of device, or any.
void draw_nodes(cluster& to, const world_kind& bounds) {
    const auto kinds = draw_list(1, 5, [&] { return to.kind_of(draw_spec(bounds.mode)); });
    const auto draw_device = [&](std::uint32_t kind) {
        return device{
            .uuid = "", .kind = kind, .service = chance(8) ? service_state::failed : service_state::in_service};
    };
    to.nodes = draw_list(least_of(bounds, bounds.nodes_max), bounds.nodes_max, [&] {
        node described{.name = "n",
                       .cpu = milli_cpu{amount(16000, 1000)},
                       .memory = bytes{amount(32000, 2000)},
                       .pods_max = *rc::gen::inRange<std::int64_t>(1, 7)};
        if (chance(6)) return described; // CPU only
        if (chance(2)) {
            described.devices = draw_list(1, bounds.devices_max, [&] { return draw_device(one_of(kinds)); });
        } else {
            const std::uint32_t kind = one_of(kinds);
            described.devices = draw_list(1, bounds.devices_max, [&] { return draw_device(kind); });
        }
        return described;
    });
}

pod_request draw_request(bool contains_devices_only) {
    pod_request request{.cpu = milli_cpu{amount(4000, 500)}, .memory = bytes{amount(8000, 1000)}, .containers = {}};
    request.containers = draw_list(0, 3, draw_device_request);
    if (contains_devices_only) std::erase_if(request.containers, [](const device_request& c) { return c.count == 0; });
    return request;
}

void draw_openb_nodes(cluster& to) {
    const int count = *rc::gen::inRange(1, 6);
    for (int i = 0; i < count; ++i) {
        openb::add_node(to, "n" + std::to_string(i), milli_cpu{amount(128000, 4000)}, mib{amount(512000, 16000)},
                        one_of<std::int64_t>({0, 1, 2, 4, 8}), one_of<std::string>({"G2", "T4"}),
                        *find_mode("hami_core").value());
    }
}

pod_request draw_openb_request() {
    const auto gpus = one_of<std::int64_t>({0, 1, 1, 1, 2, 4});
    const std::int64_t milli = gpus == 1 ? 10 * *rc::gen::inRange<std::int64_t>(1, 101) : 1000;
    const auto spec = one_of<std::string_view>({"", "", "", "G2", "T4|G2", "V100"});
    return openb::make_request(milli_cpu{amount(16000, 500)}, mib{amount(64000, 4000)}, gpus, milli_gpu{milli}, spec);
}

} // namespace

npu_kind npu_of(std::string_view chip_name) {
    const ascend_chip& chip = *find_chip(built_in_ascend_catalog(), chip_name).value();
    npu_kind kind{.name = chip.name,
                  .memory_allocatable = chip.memory_allocatable,
                  .memory_capacity = chip.memory_capacity,
                  .ai_core = chip.ai_core,
                  .ai_cpu = chip.ai_cpu.value_or(0),
                  .templates = {}};
    for (const auto& offered : chip.templates) {
        kind.templates.push_back({.name = offered.name,
                                  .memory = offered.memory,
                                  .ai_core = offered.ai_core,
                                  .ai_cpu = offered.ai_cpu.value_or(0)});
    }
    return kind;
}

namespace {

std::vector<mig_group> groups_of_an_a100() {
    return with_slices(built_in_mig_catalog(), "A100-40GB",
                       {{.name = "small", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
                        {.name = "mixed",
                         .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 1},
                                   {.name = "1g.5gb", .memory = mib{5120}, .count = 1},
                                   {.name = "2g.10gb", .memory = mib{10240}, .count = 1}}},
                        {.name = "whole", .kinds = {{.name = "7g.40gb", .memory = mib{40960}, .count = 1}}}});
}

/// Facts from the data that modes are made from, never from what modes compute.
verify::device_facts facts_of(const sharing_mode& mode) {
    verify::device_facts facts;
    if (const auto* by_catalog = dynamic_cast<const modes::mig*>(&mode)) facts.mig = &by_catalog->model();
    if (const auto* npu = dynamic_cast<const modes::ascend_vir*>(&mode)) facts.npu = npu->kind();
    facts.one_isolation = &mode == *find_mode("cce");
    if (dynamic_cast<const modes::mindcluster_310p*>(&mode) != nullptr) {
        facts.npu.ai_core = mode.adapted(device_spec{}).cores.count();
        facts.npu.ai_cpu = 7;
        for (const auto& row : find_mindcluster_chip(built_in_ascend_catalog(), "Ascend310P").value()->templates) {
            facts.npu.templates.push_back(
                {.name = row.name, .memory = mib{0}, .ai_core = row.ai_core, .ai_cpu = row.ai_cpu});
            facts.dvpp.push_back(row.dvpp);
        }
    }
    return facts;
}

} // namespace

namespace {

/// Modes of other hardware than that of the listed ones, kept for the program's life.
std::vector<known_mode> modes_of_more_hardware() {
    static std::vector<std::shared_ptr<const sharing_mode>> kept;
    std::vector<known_mode> known;
    const auto add = [&known](std::string name, std::shared_ptr<const sharing_mode> mode) {
        known.push_back({.name = std::move(name), .mode = mode.get(), .facts = facts_of(*mode)});
        kept.push_back(std::move(mode));
    };
    const auto mig_of = [](std::string_view model) {
        return modes::make_mig(**find_model(built_in_mig_catalog(), model)).value();
    };
    add("mig_of_an_rtx", mig_of("RTX-PRO-6000-96GB"));
    add("mig_of_a_b200", mig_of("B200-180GB")); // some of its memories are unknown
    for (const char* const chip : {"Ascend910A", "Ascend910B2", "Ascend910B4-1", "Ascend910C", "Ascend310P"}) {
        std::string name = std::string{"ascend_vir_of_"} + chip;
        std::ranges::replace(name, '-', '_');
        add(name, modes::make_ascend_vir(npu_of(chip), false).value());
        add(name + "_soft", modes::make_ascend_vir(npu_of(chip), true).value());
    }
    add("mindcluster_310p_of_10_cores", modes::make_mindcluster_310p(core_percent{10}, 7).value());
    return known;
}

} // namespace

const std::vector<known_mode>& known_modes() {
    static const std::vector<known_mode> modes = [] {
        std::vector<known_mode> known;
        for (const sharing_mode* mode : all_modes()) {
            known.push_back({.name = std::string{mode->name()}, .mode = mode, .facts = facts_of(*mode)});
        }
        std::ranges::move(modes_of_more_hardware(), std::back_inserter(known));
        static const modes::mig_groups grouped{groups_of_an_a100()};
        verify::device_facts facts;
        facts.geometry = groups_of_an_a100();
        known.push_back({.name = "mig_groups", .mode = &grouped, .facts = facts, .memory_least = mib{40960}});
        static const yielding_mode yielding;
        known.push_back({.name = "yielding", .mode = &yielding, .facts = {}, .memory_least = {}});
        return known;
    }();
    return modes;
}

std::string violation(const ledger& book) {
    std::vector<verify::device_facts> facts;
    for (const device_spec& kind : book.nodes().kinds) {
        facts.push_back(std::ranges::find(known_modes(), kind.mode, &known_mode::mode)->facts);
    }
    return verify::first_violation(book, facts);
}

device_spec draw_spec(const sharing_mode* mode) {
    std::vector<const sharing_mode*> modes; // half of them listed ones, since there are more NPUs than other modes
    const bool listed = chance(2);
    for (const known_mode& known : known_modes()) {
        if (!listed || std::ranges::find(all_modes(), known.mode) != std::ranges::end(all_modes())) {
            modes.push_back(known.mode);
        }
    }
    const sharing_mode* const drawn_mode = mode != nullptr ? mode : one_of(std::move(modes));
    const known_mode& known = *std::ranges::find(known_modes(), drawn_mode, &known_mode::mode);
    const bool cards_of_a_kind = known.facts.npu.memory_allocatable > mib{0}; // their memory is the kind's
    const std::int64_t memory = one_of<std::int64_t>({8000, 12000, 24576});
    const device_spec drawn{.model = one_of<std::string>({"A", "B", "C"}),
                            .family = one_of<std::string>({"F", "F", "G"}),
                            .memory = mib{cards_of_a_kind ? 0 : memory},
                            .cores = core_percent{one_of<std::int64_t>({100, 100, 100, 60})},
                            .slots = *rc::gen::inRange<std::int64_t>(1, 5),
                            .mode = drawn_mode};
    device_spec spec = drawn.mode->adapted(drawn);
    spec.memory = std::max(spec.memory, known.memory_least);
    return spec;
}

namespace {

/// What only some modes know: names of MIG profiles, NPUs' video engines, levels, limits in software.
void draw_particulars(device_request& container) {
    if (chance(8)) {
        container.profile =
            one_of<std::string>({"1g.5gb", "1g.5gb+me", "3g.20gb", "1g.24gb", "1g.24gb+me.all", "3g.90gb", "none"});
    }
    if (chance(8)) container.dvpp = one_of<dvpp_use>({dvpp_use::yes, dvpp_use::no});
    container.high_level = chance(20);
    container.soft = chance(12);
}

} // namespace

device_request draw_device_request() {
    device_request container;
    container.count = *rc::gen::inRange<std::int64_t>(0, 5);
    switch (*rc::gen::inRange(0, 6)) {
    case 0:
        break; // all of the memory
    case 1:
        container.memory_percent = *rc::gen::inRange<std::int64_t>(1, 101);
        break;
    case 2:
    case 3:
        container.memory = mib{128 + amount(3072, 128)}; // units of CCE
        break;
    default:
        container.memory = mib{500 + amount(12000, 500)};
        break;
    }
    container.cores = core_percent{one_of<std::int64_t>({0, 0, 10, 25, 50, 60, 100, 1, 2, 4, 8})};
    draw_particulars(container);
    if (chance(4)) container.models = draw_list(1, 2, [] { return one_of<std::string>({"A", "B", "C", "Z"}); });
    if (chance(6)) {
        std::vector<std::string> names{"no_such_mode"};
        for (const sharing_mode* mode : all_modes()) names.emplace_back(mode->name());
        container.mode = one_of(std::move(names));
    }
    return container;
}

namespace {

const std::vector<std::string>& label_values() {
    static const std::vector<std::string> values{"a", "b", "7"};
    return values;
}

void draw_host_facts(node& to) {
    if (chance(3)) to.host.labels.emplace_back("rack", one_of(label_values()));
    if (chance(2)) to.host.labels.emplace_back("zone", one_of(label_values()));
    if (chance(5)) {
        to.host.taints.push_back({.key = one_of(label_values()),
                                  .effect = chance(3) ? taint_effect::prefer_no_schedule : taint_effect::no_schedule});
    }
    to.host.unschedulable = chance(12);
    to.host.ready = !chance(12);
    to.host.unreachable = !to.host.ready && chance(2);
}

host_rules draw_host_rules() {
    host_rules rules;
    if (chance(6)) rules.node_selector.emplace_back("zone", one_of(label_values()));
    if (chance(6)) {
        rules.has_affinity = true;
        const auto op = static_cast<label_operator>(*rc::gen::inRange(0, 6));
        const char* const key = chance(3) ? "rack" : "zone";
        rules.affinity.push_back({.labels = {{.key = key, .op = op, .values = {one_of(label_values())}}}});
        if (chance(3)) rules.affinity.push_back({.names = {{.key = "metadata.name", .values = {"n1"}}}});
    }
    if (chance(3)) rules.tolerations.push_back({.key = chance(2) ? "" : one_of(label_values()), .any_value = true});
    if (chance(12)) rules.tolerations.push_back({.key = "node.kubernetes.io/unreachable", .any_value = true});
    return rules;
}

std::string some_uuid() {
    return "n" + std::to_string(*rc::gen::inRange(0, 4)) + "-" + std::to_string(*rc::gen::inRange(0, 3));
}

/// Names of devices, tags, link groups and host rules.
void draw_names(pod_request& to) {
    to.rules = draw_host_rules();
    if (chance(5)) to.tags = {one_of(label_values())};
    if (chance(5)) to.avoids = {one_of(label_values())};
    to.containers_apart = chance(8);
    to.one_link_group = chance(8);
    for (device_request& container : to.containers) {
        if (chance(8)) container.uuids_allowed = draw_list(1, 4, some_uuid);
        if (chance(8)) container.uuids_denied = draw_list(1, 2, some_uuid);
        if (chance(8)) container.types_allowed = {one_of<std::string>({"a", "B", "z"})};
        if (chance(8)) container.types_denied = {one_of<std::string>({"a", "c"})};
        if (chance(8)) container.family = one_of<std::string>({"", "F", "G"});
    }
}

void name_devices(cluster& to) {
    for (node& named : to.nodes) {
        draw_host_facts(named);
        const bool linked = chance(2);
        for (std::size_t d = 0; d < named.devices.size(); ++d) {
            named.devices[d].uuid = named.name + "-" + std::to_string(d);
            if (linked) named.devices[d].link_group = *rc::gen::inRange(0, 2);
        }
    }
}

} // namespace

world draw_world(const world_kind& kind) {
    world result;
    if (kind.openb) {
        draw_openb_nodes(result.owned);
        result.requests = draw_list(1, 6, draw_openb_request);
    } else {
        draw_nodes(result.owned, kind);
        result.requests = draw_list(least_of(kind, kind.requests_max), kind.requests_max,
                                    [&] { return draw_request(kind.contains_devices_only); });
    }
    for (std::size_t i = 0; i < result.owned.nodes.size(); ++i) result.owned.nodes[i].name = "n" + std::to_string(i);
    if (kind.names) {
        name_devices(result.owned);
        for (pod_request& request : result.requests) draw_names(request);
    }
    result.operations = draw_list(kind.large ? kind.operations_max : 0, kind.operations_max, [] {
        const auto draw = [] { return *rc::gen::inRange<std::uint32_t>(0, 1000); };
        operation drawn;
        drawn.kind = draw();
        drawn.request = draw();
        drawn.salt = draw();
        return drawn;
    });
    return result;
}

rc::Gen<world> worlds(const world_kind& kind) {
    return rc::gen::exec([kind] { return draw_world(kind); });
}

booking some_booking(const cluster& owned, const pod_request& request, owner_id owner, std::uint32_t salt) {
    booking entry{.owner = owner, .where = {}};
    if (owner.is_pod()) {
        entry.cpu = request.cpu;
        entry.memory = request.memory;
    }
    entry.where.node = node_index{std::size_t{salt} % owned.nodes.size()};
    const auto& devices = owned.nodes[entry.where.node.at()].devices;
    for (std::size_t c = 0; c < request.containers.size(); ++c) {
        std::int64_t missing = request.containers[c].count;
        for (std::size_t i = 0; i < devices.size() && missing > 0; ++i) {
            const device_index at{(i + salt) % devices.size()};
            const device_spec& spec = owned.spec_of(entry.where.node, at);
            std::vector<partition> parts;
            spec.mode->candidates(spec, {}, request.containers[c], parts);
            if (parts.empty() || devices[at.at()].service != service_state::in_service) continue;
            entry.where.shares.push_back(
                {.container = static_cast<std::uint32_t>(c), .device = at, .part = parts[salt % parts.size()]});
            --missing;
        }
    }
    return entry;
}

workload workload_of(const world& what) {
    workload target;
    const auto count = static_cast<double>(what.requests.size());
    for (std::size_t i = 0; i < what.requests.size(); ++i) {
        const pod_request& request = what.requests[i];
        const double weight = 2.0 * (count - static_cast<double>(i)) / (count * (count + 1.0));
        target.typical.push_back({.cpu = request.cpu, .containers = request.containers, .frequency = weight});
    }
    return target;
}

void PrintTo(const policy_choice& choice, std::ostream* out) { *out << choice.node << " / " << choice.device; }

namespace {

template <class List>
void add_choices(const List& list, bool openb, std::vector<policy_choice>& out) {
    std::string weighted = "weighted:";
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string name{list[i].name};
        out.push_back({.node = name, .device = name, .openb = openb});
        out.push_back({.node = name, .device = std::string{list[(i + 1) % list.size()].name}, .openb = openb});
        if (list[i].make({})->traits().nodes == ties::drawn) continue;
        weighted += (weighted.back() == ':' ? "" : ",") + name + "=" + std::to_string(i % 3) + ".37";
    }
    out.push_back({.node = weighted, .device = weighted, .openb = openb});
    out.push_back({.node = weighted, .device = std::string{list.front().name}, .openb = openb});
}

} // namespace

std::vector<policy_choice> all_choices() {
    std::vector<policy_choice> choices;
    add_choices(native_policies, false, choices);
    add_choices(compat::fgd_policies, true, choices);
    choices.push_back(
        {.node = "weighted:fgd=1", .device = "weighted:fgd=1", .openb = false}); // one score for both levels
    return choices;
}

std::string test_name(const testing::TestParamInfo<policy_choice>& info) {
    std::string name = info.param.node.substr(0, 30) + "__" + info.param.device.substr(0, 30);
    if (info.param.node == info.param.device) name = info.param.node.substr(0, 30);
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return name + "_" + std::to_string(info.index);
}

policies_of::policies_of(const policy_choice& choice, const world& what) {
    std::vector<policy_entry> known(native_policies.begin(), native_policies.end());
    known.insert(known.end(), compat::fgd_policies.begin(), compat::fgd_policies.end());
    std::ranges::find(known, policies::bid_price::id, &policy_entry::name)->make = make_quick_bid_price;
    policy_parameters parameters;
    parameters.target = workload_of(what);
    parameters.seed = 5;
    node_ = parse_policy(choice.node, known, parameters).value();
    parameters.seed = 6;
    if (choice.device != choice.node) device_ = parse_policy(choice.device, known, parameters).value();
}

use_snapshot use_of(const ledger& book) {
    use_snapshot seen;
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
        seen.hosts.push_back(book.host(node_index{i}));
        const auto states = book.devices(node_index{i});
        seen.devices.insert(seen.devices.end(), states.begin(), states.end());
    }
    return seen;
}

std::vector<pod_id> live_pods(const ledger& book, std::uint32_t pods) {
    std::vector<pod_id> live;
    for (std::uint32_t i = 0; i < pods; ++i) {
        if (book.is_live(pod_id{i})) live.emplace_back(i);
    }
    return live;
}

namespace {

void show(const pod_request& request, std::ostream& out) {
    out << "cpu " << request.cpu.count() << " mem " << request.memory.count();
    for (const device_request& c : request.containers) {
        out << " [" << c.count << " x mem " << c.memory.count() << " / " << c.memory_percent.value_or(0) << " % cores "
            << c.cores.count() << (c.profile.empty() ? "" : " profile ") << c.profile << (c.soft ? " soft" : "")
            << (c.high_level ? " high" : "") << " dvpp " << static_cast<int>(c.dvpp) << " models";
        for (const auto& model : c.models) out << " " << model;
        out << " mode '" << c.mode << "']";
    }
    out << "\n";
}

} // namespace

void showValue(const world& what, std::ostream& out) {
    for (const device_spec& k : what.owned.kinds) {
        out << "kind " << k.model << " mem " << k.memory.count() << " cores " << k.cores.count() << " slots " << k.slots
            << " " << k.mode->name() << "\n";
    }
    for (const node& described : what.owned.nodes) {
        out << "node cpu " << described.cpu.count() << " mem " << described.memory.count() << " pods "
            << described.pods_max << " kinds";
        for (const device& d : described.devices) out << " " << d.kind;
        out << "\n";
    }
    for (const pod_request& request : what.requests) show(request, out);
    for (const operation& o : what.operations) {
        out << "op " << o.kind << " request " << o.request % what.requests.size() << " salt " << o.salt << "\n";
    }
}

} // namespace vgpualloc::property
