// One node asked about one pod.
#include "node.hpp"

#include <algorithm>
#include <utility>

#include "part_words.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc::explaining {

namespace {

constexpr node_index here{std::size_t{0}};

ledger with_what_runs(const kube::snapshot& in, node_index where, const cluster& alone) {
    ledger made{alone};
    std::size_t pods = 0;
    for (const std::uint32_t position : in.book->live_on(where)) {
        booking each = in.book->bookings()[position];
        each.pod = pod_id{pods++};
        each.where.node = here;
        const bool adopted = made.adopt(std::move(each)).has_value();
        VGA_ASSERT(adopted, "what one ledger has adopted another of the same node adopts");
    }
    return made;
}

/// The prefix of a request: what the containers before a given one ask for. It leaves no tags for the rest to avoid.
pod_request containers_before(const pod_request& request, std::size_t end) {
    pod_request made = request;
    made.cpu = {};
    made.memory = {};
    made.tags.clear();
    made.containers.resize(end);
    return made;
}

/// The devices of a node in some state, with a view of them.
struct seen_node {
    std::vector<device_view> devices;
    std::vector<const device_view*> pointers;
    device_config config;
    node_view view;

    seen_node(const ledger& book, milli_cpu taken) {
        const auto& owned = book.nodes().nodes[here.at()];
        const auto states = book.devices(here);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const auto& spec = book.nodes().kinds[owned.devices[d].kind];
            devices.push_back({.spec = &spec, .state = states[d], .kind = owned.devices[d].kind});
        }
        view = {.node = here, .cpu_capacity = owned.cpu, .cpu_left = owned.cpu - book.host(here).cpu - taken};
    }
    void finish() {
        for (device_view& each : devices) each.used = each.spec->mode->used(*each.spec, each.state);
        for (const device_view& each : devices) {
            pointers.push_back(&each);
            add_to_totals(config, each);
        }
        config.devices = pointers;
        view.config = &config;
    }
};

} // namespace

lone_node::lone_node(const kube::snapshot& in, node_index where, policy& scorer, const lone_scorer& make)
    : nodes_{.kinds = in.nodes->kinds, .nodes = {in.nodes->nodes[where.at()]}, .modes = in.nodes->modes},
      own_scorer_{make ? make(nodes_, where) : nullptr}, scorer_{own_scorer_ ? own_scorer_.get() : &scorer},
      book_{with_what_runs(in, where, nodes_)}, asks_{book_, {.node = scorer_, .device = scorer_}, false},
      pods_{book_.live_count()} {}

std::optional<placement> lone_node::best(const pod_request& request) {
    auto decided = asks_.decide(request);
    if (!decided) return std::nullopt;
    return *std::move(decided);
}

refusal lone_node::of_host(const pod_request& request, rejection_code code) const {
    const bool memory_too = code == rejection_code::insufficient_memory;
    const auto detail = book_.why_not_host(here, request.cpu, memory_too ? request.memory : mib{0});
    return {.code = code,
            .wanted = detail.code == code ? detail.wanted : 0,
            .available = detail.code == code ? detail.available : 0,
            .unit = unit_of(code, nullptr, nullptr),
            .device = {},
            .container = {}};
}

refusal lone_node::of_devices(const pod_request& request, std::size_t container, rejection_code code,
                              const std::vector<bool>& taken) {
    const auto& owned = nodes_.nodes[here.at()].devices;
    refusal made{.code = code, .unit = unit_of(code, nullptr, nullptr), .device = {}, .container = container};
    const auto answers = asks_.ask_devices(here, request, container);
    for (std::size_t d = 0; d < answers.size(); ++d) {
        if (!taken[d]) ++made.devices[answers[d].refused.code];
    }
    if (code == rejection_code::too_few_devices) {
        made.wanted = request.containers[container].count;
        const auto fitting = made.devices.find(rejection_code::none);
        if (fitting != made.devices.end()) made.available = fitting->second;
        return made;
    }
    for (std::size_t d = 0; d < answers.size(); ++d) {
        if (taken[d] || answers[d].refused.code != code) continue;
        if (!made.device.empty() && answers[d].refused.available <= made.available) continue;
        made.wanted = answers[d].refused.wanted;
        made.available = answers[d].refused.available;
        made.unit = unit_of(code, &nodes_.kinds[owned[d].kind], &request.containers[container]);
        made.device = owned[d].uuid;
    }
    return made;
}

refusal lone_node::refused(const pod_request& request, rejection_code code) {
    const bool of_the_host = code == rejection_code::too_many_pods || code == rejection_code::insufficient_cpu ||
                             code == rejection_code::insufficient_memory;
    if (of_the_host) return of_host(request, code);
    std::size_t fits = 0; // containers that get their devices, one after the other
    while (fits < request.containers.size() && best(containers_before(request, fits + 1))) ++fits;
    if (fits == request.containers.size()) return {.code = code, .unit = {}, .device = {}, .container = {}};
    std::vector<bool> taken(nodes_.nodes[here.at()].devices.size(), false);
    if (fits > 0) {
        const auto placed = asks_.place(pod_id{pods_++}, containers_before(request, fits));
        VGA_ASSERT(placed.has_value(), "what was just decided is placed");
        for (const auto& share : placed->shares) taken[share.device.at()] = request.containers_apart;
    }
    return of_devices(request, fits, code, taken);
}

std::vector<score_term> lone_node::terms(const pod_request& request, const placement& made) const {
    seen_node before{book_, {}};
    seen_node after{book_, request.cpu};
    for (const auto& share : made.shares) {
        device_view& each = after.devices[share.device.at()];
        each.state = each.spec->mode->with(*each.spec, each.state, share.part);
    }
    before.finish();
    after.finish();
    request_view view{.request = &request};
    for (const auto& each : request.containers) view.devices += each.count;
    const auto score = [&](policy& of) { return of.node_score(view, before.view, after.view); };
    const auto* sum = dynamic_cast<const policies::weighted*>(scorer_);
    if (sum == nullptr) return {{.policy = std::string{scorer_->name()}, .weight = 1.0, .score = score(*scorer_)}};
    std::vector<score_term> terms;
    for (const auto& each : sum->terms()) {
        terms.push_back(
            {.policy = std::string{each.scorer->name()}, .weight = each.weight, .score = score(*each.scorer)});
    }
    return terms;
}

} // namespace vgpualloc::explaining
