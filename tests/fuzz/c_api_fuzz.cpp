// The C interface as a program uses it that makes every mistake: objects, questions, bookings, services of devices and
// steps of their layouts in any order, on two clusters, with small buffers. Every call is a status, what can be asked
// in two ways has one answer, and the ledger's own invariants look on.
#include "fuzz.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "vgpualloc/c_api.h"

#include "c_api_calls.hpp"

namespace {

using fuzzing::byte_reader;
using fuzzing::require;

template <auto Function, class... Arguments>
auto call(Arguments... arguments) {
    ++fuzzing::calls_of_c_api;
    return Function(arguments...);
}

constexpr std::size_t nodes = 4;
constexpr std::size_t pods = 6;
constexpr std::size_t steps_max = 32;

std::string node_name(std::size_t number) { return "n" + std::to_string(number); }
std::string pod_name(std::size_t number) { return "p" + std::to_string(number); }

std::string draw_node(byte_reader& bytes, std::size_t number) {
    static const std::vector<std::string> modes{"hami-core", "mig", "mps", "odd"};
    std::string cards;
    for (std::size_t card = bytes.below(4); card > 0; --card) {
        cards += "GPU-" + node_name(number) + "-" + std::to_string(card) + ",10,40960,NVIDIA-A100-SXM4-40GB," +
                 (bytes.chance(6) ? "false" : "true") + "," + bytes.one_of(modes) + ":";
    }
    return R"({"kind":"Node","metadata":{"name":")" + node_name(number) +
           R"(","annotations":{"volcano.sh/node-vgpu-register":")" + cards + R"("}},"spec":{"unschedulable":)" +
           (bytes.chance(8) ? "true" : "false") +
           R"(},"status":{"allocatable":{"cpu":"8","memory":"64Gi","pods":"4","volcano.sh/vgpu-number":"40",)"
           R"("volcano.sh/vgpu-memory":"163840","volcano.sh/vgpu-cores":"400"}}})";
}

std::string draw_pod(byte_reader& bytes, std::size_t number) {
    const std::string name = pod_name(number);
    std::string text = R"({"kind":"Pod","metadata":{"namespace":"ns","name":")" + name + R"(","uid":")" + name + R"(")";
    if (bytes.chance(4))
        text += R"(,"creationTimestamp":"2026-01-0)" + std::to_string(1 + bytes.below(3)) + R"(T00:00:00Z")";
    const std::size_t where = bytes.below(nodes);
    const bool is_bound = bytes.chance(4);
    if (is_bound) {
        text += R"(,"annotations":{"volcano.sh/vgpu-ids-new":"GPU-)" + node_name(where) + "-" +
                std::to_string(1 + bytes.below(3)) + R"(,NVIDIA,20000,0:"})";
    }
    text += R"(},"spec":{)";
    if (is_bound) text += R"("nodeName":")" + node_name(where) + R"(",)";
    text += R"("containers":[{"name":"main","resources":{"limits":{"cpu":"1","volcano.sh/vgpu-number":")" +
            std::to_string(bytes.below(3)) + R"(","volcano.sh/vgpu-memory":")" +
            std::to_string(1000 * static_cast<int>(bytes.below(45)) - (bytes.chance(16) ? 5000 : 0)) + R"("}}}]}})";
    return text;
}

/// A status of a call that may fail: it has a name, and a failure has words.
vga_status checked(vga_status status, const vga_text& why) {
    require(std::strncmp(call<vga_status_name>(status), "VGA_", 4) == 0, "a status has a name");
    require(status != VGA_INTERNAL && status != VGA_OUT_OF_MEMORY, "the library has no fault");
    require((status == VGA_OK) == (why.length == 0), "a failure has words, and nothing else has");
    return status;
}

class session {
public:
    explicit session(byte_reader& bytes) : bytes_{bytes} {
        static const std::vector<const char*> policies{nullptr, "binpack", "spread", "ssp", "dual_price", "random"};
        for (vga_cluster*& cluster : clusters_) {
            if (&cluster == &clusters_[1] && !bytes.chance(4)) continue; // making one takes longer than all else
            vga_options options{};
            options.struct_size = sizeof options;
            options.policy = bytes.one_of(policies);
            if (checked(call<vga_cluster_new>(&options, &cluster, why()), why_) != VGA_OK) {
                require(cluster == nullptr, "a cluster that was not made is NULL");
                require(call<vga_cluster_new>(nullptr, &cluster, why()) == VGA_OK, "the defaults are good");
            }
        }
        for (std::size_t n = 0; n < nodes; ++n) tell(draw_node(bytes_, n));
        for (std::size_t p = 0; p < pods; ++p) tell(draw_pod(bytes_, p));
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
        for (vga_cluster* const cluster : clusters_) call<vga_cluster_free>(cluster);
    }

    void step() {
        const std::string uid = pod_name(bytes_.below(pods + 1));
        const auto where = static_cast<std::uint32_t>(bytes_.below(nodes + 1));
        vga_answer answer{};
        switch (bytes_.below(24)) {
        case 0:
            tell(draw_node(bytes_, where));
            break;
        case 1:
            tell(draw_pod(bytes_, bytes_.below(pods)));
            break;
        case 2:
            checked(call<vga_remove_node>(main(), node_name(where).c_str(), why()), why_);
            break;
        case 3:
            checked(call<vga_remove_pod>(main(), uid.c_str(), why()), why_);
            break;
        case 4:
        case 5:
        case 6:
            checked(call<vga_reserve>(main(), uid.c_str(), where, &answer, why()), why_);
            break;
        case 7:
            checked(call<vga_commit>(main(), uid.c_str(), why()), why_);
            break;
        case 8:
            checked(call<vga_rollback>(main(), uid.c_str(), why()), why_);
            break;
        case 9:
            checked(call<vga_release>(main(), uid.c_str(), why()), why_);
            break;
        case 10:
            checked(call<vga_suspend>(main(), uid.c_str(), why()), why_);
            break;
        case 11:
            checked(call<vga_resume>(main(), uid.c_str(), why()), why_);
            break;
        case 12:
            checked(call<vga_begin_trial>(main(), why()), why_);
            break;
        case 13:
            checked(call<vga_end_trial>(main(), bytes_.chance(3) ? 1 : 0, why()), why_);
            break;
        case 14:
            checked(call<vga_swap>(clusters_[0], clusters_[bytes_.chance(8) ? 0 : 1], why()), why_);
            break;
        case 15:
            checked(call<vga_learn_workload>(main(), nullptr, why()), why_);
            break;
        case 16:
            configure();
            break;
        case 17:
            read_texts(uid);
            break;
        case 18:
            tell(std::string(bytes_.below(40), static_cast<char>(bytes_.byte())));
            break;
        case 19:
            set_service(where);
            break;
        case 20:
            note_layout(where);
            break;
        case 21:
            cut(where);
            break;
        case 22:
            plan_room(uid);
            break;
        default:
            choose(uid);
        }
        if (bytes_.chance(3)) compare_answers(uid);
        compare_names();
    }

private:
    [[nodiscard]] vga_cluster* main() const { return clusters_[0]; }
    [[nodiscard]] vga_text* why() {
        why_ = {.data = words_.data(), .capacity = bytes_.chance(8) ? 4 : words_.size(), .length = 0};
        return &why_;
    }
    void tell(const std::string& object) {
        vga_upserted done{};
        done.struct_size = sizeof done;
        const vga_status status = call<vga_upsert>(main(), object.data(), object.size(), &done, why());
        checked(status, why_);
        require(done.changed + done.outdated <= done.objects, "objects are new, or older, or neither");
    }
    void configure() {
        vga_options options{};
        options.struct_size = sizeof options;
        options.device_config = bytes_.chance(2) ? "nvidia: {knownMigGeometries: []}" : nullptr;
        options.policy = bytes_.chance(4) ? "none" : "fgd";
        checked(call<vga_configure>(main(), &options, why()), why_);
    }
    /// A text has its length, and is whole or not there.
    template <class Ask>
    void read_text(Ask&& ask) {
        vga_text text{.data = nullptr, .capacity = 0, .length = 0};
        if (ask(&text) != VGA_TOO_SMALL) return;
        std::string room(text.length + 1, '#');
        text.data = room.data();
        text.capacity = bytes_.chance(2) ? text.length : room.size();
        const vga_status status = ask(&text);
        require(text.length + 1 == room.size(), "nothing has happened, so the text is as long as it was");
        if (status == VGA_OK) {
            require(text.capacity == room.size() && room.back() == '\0', "a text ends with NUL");
        } else {
            require(status == VGA_TOO_SMALL && room[0] == '#', "a text that has no room is not written");
        }
    }
    void read_texts(const std::string& uid) {
        read_text([&](vga_text* text) { return call<vga_metrics>(main(), text); });
        read_text([&](vga_text* text) { return call<vga_warnings>(main(), text); });
        read_text([&](vga_text* text) { return call<vga_explain>(main(), uid.c_str(), text, nullptr); });
        read_text([&](vga_text* text) { return call<vga_annotations>(main(), uid.c_str(), 17, text, nullptr); });
        std::uint32_t limit = 0;
        std::uint64_t version = 0;
        read_text([&](vga_text* text) { return call<vga_node_names>(main(), &limit, &version, text); });
    }
    [[nodiscard]] std::string device_name(std::size_t node) {
        return "GPU-" + node_name(node) + "-" + std::to_string(1 + bytes_.below(4));
    }
    void set_service(std::uint32_t where) {
        const std::string device = device_name(where);
        const auto service = static_cast<std::uint32_t>(bytes_.below(5));
        const vga_status set = checked(call<vga_set_service>(main(), where, device.c_str(), service, why()), why_);
        vga_service now = VGA_IN_SERVICE;
        const vga_status read = call<vga_get_service>(main(), where, device.c_str(), &now, nullptr);
        require(set != VGA_OK || read == VGA_OK, "a device that was ordered something is there");
        const bool is_order = service == VGA_DRAINING || service == VGA_RECONFIGURING;
        require(set != VGA_OK || !is_order || now != VGA_IN_SERVICE, "a device that was ordered out takes nothing new");
    }
    void note_layout(std::uint32_t where) {
        static const std::vector<const char*> known{"1g.5gb@0",  "1g.5gb@1",  "1g.5gb@6",  "2g.10gb@2",
                                                    "2g.10gb@4", "3g.20gb@4", "7g.40gb@0", "1g.5gb+me@3",
                                                    "19@5",      "3g.20gb",   "odd@x",     ""};
        std::array<const char*, 4> instances{};
        for (const char*& instance : instances) instance = bytes_.one_of(known);
        const std::size_t count = bytes_.below(4);
        const std::size_t busy = bytes_.below(3);
        const std::string device = device_name(where);
        checked(call<vga_note_layout>(main(), where, device.c_str(), instances.data(), count, instances.data(), busy,
                                      why()),
                why_);
    }
    /// Plans a layout, and carries out some of its steps, or other ones.
    void cut(std::uint32_t where) {
        static const std::vector<const char*> wanted{"1g.5gb",  "2g.10gb", "3g.20gb", "3g.20gb@4",
                                                     "7g.40gb", "x",       nullptr};
        static const std::vector<const char*> groups{nullptr, nullptr, "1g.5gb=7", "3g.20gb=2", "1g.5gb=2,2g.10gb=1",
                                                     ",="};
        const std::string device = device_name(where);
        vga_layout_request request{};
        request.struct_size = sizeof request;
        request.want = bytes_.one_of(wanted);
        request.group = bytes_.one_of(groups);
        request.anew = bytes_.chance(2) ? 1 : 0;
        std::array<vga_layout_step, 16> steps{};
        std::size_t count = 0;
        int found = 0;
        const vga_status planned =
            checked(call<vga_plan_layout>(main(), where, device.c_str(), &request, steps.data(), sizeof steps[0],
                                          bytes_.chance(8) ? 1 : steps.size(), &count, &found, why()),
                    why_);
        if (planned != VGA_OK) return;
        require(found != 0 || count == 0, "where there is no way there are no steps");
        const bool in_order = !bytes_.chance(4);
        for (std::size_t i = 0; i < count; ++i) {
            vga_layout_step& step = steps[in_order ? i : bytes_.below(count)];
            if (!in_order && bytes_.chance(4)) step.start = static_cast<std::uint32_t>(bytes_.below(9));
            const int done = bytes_.chance(6) ? 0 : 1;
            const vga_status noted =
                checked(call<vga_note_step>(main(), where, device.c_str(), &step, sizeof step, done, why()), why_);
            require(!in_order || noted == VGA_OK, "a plan can be carried out step by step");
            if (done == 0 && noted == VGA_OK) {
                require(call<vga_note_step>(main(), where, device.c_str(), &step, sizeof step, 1, nullptr) ==
                            VGA_WRONG_STATE,
                        "after a step has failed nothing is known");
                return;
            }
        }
        if (!in_order || found == 0) return;
        require(call<vga_plan_layout>(main(), where, device.c_str(), &request, steps.data(), sizeof steps[0],
                                      steps.size(), &count, &found, nullptr) == VGA_OK &&
                    found == 1 && (count == 0 || request.anew != 0),
                "what was carried out is there");
        read_text([&](vga_text* text) { return call<vga_layout>(main(), where, device.c_str(), text, nullptr); });
    }
    void plan_room(const std::string& uid) {
        vga_room_options options{};
        options.struct_size = sizeof options;
        options.moves_max = static_cast<std::int64_t>(bytes_.below(4)) - 1;
        options.downtime_max_us = -1;
        options.steps_max = 2'000;
        options.move_bare_pods = 1;
        std::string room(1U << 14U, '\0');
        vga_text text{.data = room.data(), .capacity = room.size(), .length = 0};
        checked(call<vga_plan_room>(main(), uid.c_str(), &options, &text, why()), why_);
    }
    void choose(const std::string& uid) {
        const std::array<std::uint32_t, 3> candidates{0, 1, static_cast<std::uint32_t>(bytes_.below(nodes + 1))};
        std::uint32_t chosen = 0;
        int found = 0;
        if (call<vga_choose>(main(), uid.c_str(), candidates.data(), candidates.size(), &chosen, &found, why()) !=
            VGA_OK)
            return;
        vga_answer answer{};
        if (found != 0)
            require(call<vga_ask_node>(main(), uid.c_str(), chosen, &answer, nullptr) == VGA_OK &&
                        answer.reason == VGA_FITS,
                    "a pod fits where it goes");
    }
    /// All nodes at once, one by one, and as if nobody had anything.
    void compare_answers(const std::string& uid) {
        std::array<vga_answer, 2 * nodes> all{};
        std::array<vga_answer, 2 * nodes> empty{};
        std::size_t count = 0;
        std::size_t count_empty = 0;
        const vga_status asked = checked(
            call<vga_evaluate>(main(), uid.c_str(), VGA_WITH_NUMBERS, all.data(), all.size(), &count, why()), why_);
        const vga_status asked_empty = checked(
            call<vga_evaluate_empty>(main(), uid.c_str(), empty.data(), empty.size(), &count_empty, why()), why_);
        require(asked == asked_empty && count == count_empty, "both questions can be asked, or none");
        if (asked != VGA_OK) return;
        std::array<std::string, pods> uids;
        std::array<const char*, pods> others{};
        for (std::size_t p = 0; p < pods; ++p) {
            uids[p] = pod_name(p);
            others[p] = uids[p].c_str();
        }
        for (std::size_t n = 0; n < count; ++n) {
            const auto where = static_cast<std::uint32_t>(n);
            vga_answer one{};
            vga_answer without{};
            const vga_status there = call<vga_ask_node>(main(), uid.c_str(), where, &one, nullptr);
            require(all[n].reason == one.reason, "a node has one answer");
            if (there != VGA_OK) continue;
            require(all[n].wanted == one.wanted && all[n].available == one.available && all[n].rank == one.rank,
                    "with the same numbers");
            require(call<vga_ask_without>(main(), uid.c_str(), where, others.data(), others.size(), &without,
                                          nullptr) == VGA_OK,
                    "what can be asked can be asked without others");
            require(empty[n].reason == without.reason && empty[n].wanted == without.wanted &&
                        empty[n].available == without.available && empty[n].compromise == without.compromise,
                    "a node answers as without all pods");
            require(std::isfinite(all[n].score) && std::isfinite(empty[n].score), "a score is a number");
        }
    }
    void compare_names() {
        std::array<char, 256> letters{};
        vga_text names{.data = letters.data(), .capacity = letters.size(), .length = 0};
        std::uint32_t limit = 0;
        std::uint64_t version = 0;
        require(call<vga_node_names>(main(), &limit, &version, &names) == VGA_OK, "all names can be read");
        const char* next = letters.data();
        for (std::uint32_t n = 0; n < limit; ++n) {
            std::array<char, 64> alone{};
            vga_text name{.data = alone.data(), .capacity = alone.size(), .length = 0};
            const vga_status status = call<vga_node_name>(main(), n, &name);
            require((status == VGA_OK) == (*next != '\0'), "a number without a node has an empty name");
            require(status != VGA_OK || std::strcmp(next, alone.data()) == 0, "a node has one name");
            next += std::strlen(next) + 1;
        }
        require(next == letters.data() + names.length, "there are as many names as numbers");
    }

    byte_reader& bytes_;
    std::array<vga_cluster*, 2> clusters_{};
    std::array<char, 512> words_{};
    vga_text why_{};
};

} // namespace

std::uint64_t fuzzing::calls_of_c_api = 0;

void fuzzing::fuzz(std::string_view input) {
    byte_reader bytes{input};
    session played{bytes};
    for (std::size_t step = 0; step < steps_max && !bytes.empty(); ++step) played.step();
}
