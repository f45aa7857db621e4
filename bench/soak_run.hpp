// Random operations on one ledger and one allocator, for as long as it takes, with the reference alongside.
//
// Of 1,000 operations 433 place a pod and 405 release one, so that the cluster is as full as it gets; 20 are about one
// of 64 claims, which is reserved, used by one more pod, or given back; 52 register a machine again unchanged, 4 change
// what a machine is, 20 fail a device and 27 repair one, 4 drain a device and 4 take one out of service to cut it anew,
// 8 cordon a node or open it again, 5 remove a node and 7 add one, 5 reserve a pod and roll it back, and 6 open a
// trial. A trial has one to eight such operations, which count as operations themselves, among them other trials (three
// deep at most); two of three are undone. Of 4,000 placements one asks for something new, so that requests are
// forgotten, and one names devices. The log is cut about every 64 operations, never in a trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/reference.hpp"
#include "soak_world.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/ledger.hpp"

namespace vgpusoak {

struct run_options {
    world_options world{};
    std::uint64_t seed = 1;
    std::int64_t reference_every = 2'000; ///< placements
    std::string policy = "binpack";
};

enum class operation : std::uint8_t {
    place,
    release,
    register_again,
    change,
    fail,
    repair,
    drain,
    reconfigure,
    claim,
    cordon,
    remove,
    add,
    roll_back,
    try_out,
};

struct run_counts {
    std::int64_t operations = 0;
    std::int64_t placed = 0;
    std::int64_t refused = 0;
    std::int64_t changes = 0; ///< of nodes and devices
    std::int64_t claims = 0;  ///< reserved
    std::int64_t claim_users = 0;
    std::int64_t trials_kept = 0;
    std::int64_t trials_undone = 0;
    std::int64_t compared = 0; ///< decisions with those of the reference
    std::int64_t breaks = 0;
};

class soak_run {
public:
    /// Error unknown_name for a policy that is not listed; unsupported for one that draws, since the reference would
    /// have to be asked every time to draw alike.
    [[nodiscard]] static vgpualloc::expected<std::unique_ptr<soak_run>> make(const run_options& options);

    /// One operation; a trial with all that happens in it.
    void step();
    /// The ledger's recount, and every node's answer to some requests as the reference gives it.
    void check();

    [[nodiscard]] const run_counts& counts() const noexcept { return counts_; }
    /// Of all decisions so far.
    [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }
    [[nodiscard]] std::size_t live_count() const noexcept { return book_.live_count(); }
    /// How often the allocator's tables of states were full and begun anew.
    [[nodiscard]] std::uint64_t renewals() const noexcept { return alloc_.id_generation(); }

private:
    /// What an undone trial takes back in the books of this program.
    struct pod_entry {
        vgpualloc::pod_id pod;
        bool placed = false; ///< or released
    };
    struct machine_entry {
        std::size_t machine = 0;
        vgpualloc::node before;
    };
    struct journal_mark {
        std::size_t pods = 0;
        std::size_t machines = 0;
        std::size_t ended = 0;
    };
    /// Numbers of pods.
    struct pod_books {
        std::vector<vgpualloc::pod_id> live;
        std::vector<std::size_t> positions; ///< in `live`, by number
        std::vector<vgpualloc::pod_id> free;
        std::vector<vgpualloc::pod_id> ended; ///< in a trial that may be undone
        std::uint32_t numbers = 0;

        [[nodiscard]] vgpualloc::pod_id next();
        void give_back(vgpualloc::pod_id pod) { free.emplace_back(pod.value(), pod.generation() + 1); }
        void enter(vgpualloc::pod_id pod);
        void leave(vgpualloc::pod_id pod);
    };

    soak_run(const run_options& options, std::unique_ptr<vgpualloc::policy> policy,
             std::unique_ptr<vgpualloc::policy> reference_policy);

    void apply(operation kind);
    void note_arrival(vgpualloc::request_id request);
    void place();
    void release();
    void register_again();
    void change();
    void set_service(vgpualloc::service_state service);
    void repair();
    void claim();
    void reserve_claim(vgpualloc::claim_id claim);
    void use_claim(vgpualloc::claim_id claim);
    void cordon();
    void remove();
    void add();
    void roll_back();
    void try_out();
    void take_back(const journal_mark& mark);

    [[nodiscard]] operation draw_operation();
    [[nodiscard]] vgpualloc::request_id draw_request();
    [[nodiscard]] vgpualloc::request_id known(std::uint32_t request);
    [[nodiscard]] std::pair<std::size_t, vgpualloc::node_index> draw_present();
    [[nodiscard]] std::optional<std::size_t> draw_absent();
    vgpualloc::node& machine_to_change(std::size_t machine);
    void set_health(std::size_t machine, const std::string& uuid, vgpualloc::service_state health);
    void note(std::uint64_t value) noexcept;
    void note(const vgpualloc::expected<vgpualloc::placed_pod, vgpualloc::rejection>& decision) noexcept;
    void expect(bool holds, const char* sentence);

    soak_world world_;
    vgpualloc::rng draw_;
    std::unique_ptr<vgpualloc::policy> policy_;
    std::unique_ptr<vgpualloc::policy> reference_policy_;
    vgpualloc::ledger book_;
    vgpualloc::allocator alloc_;
    vgpualloc::reference_allocator reference_;
    std::vector<vgpualloc::request_id> requests_; ///< by position in the world's
    std::vector<vgpualloc::node> machines_;       ///< as they registered last
    pod_books pods_;
    std::vector<pod_entry> pod_journal_;         ///< of the open trials
    std::vector<machine_entry> machine_journal_; ///< of the open trials
    int trials_open_ = 0;
    std::int64_t reference_every_;
    std::int64_t placements_ = 0;
    std::size_t next_checked_ = 0; ///< request
    run_counts counts_;
    std::uint64_t checksum_ = 0;
};

} // namespace vgpusoak
