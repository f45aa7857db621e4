// Programs of operations on a ledger: pods, claims, nodes and trials, also such as no caller should try. After every
// step the counted use is the sum of what is live; at the end the log gives the same ledger, and so do the live pods
// alone.
#include "worlds.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/model/trial.hpp"

namespace {

namespace property = vgpualloc::property;
using fuzzing::byte_reader;
using fuzzing::require;
using property::operation;
using vgpualloc::claim_id;
using vgpualloc::device_index;
using vgpualloc::ledger;
using vgpualloc::node_index;
using vgpualloc::owner_id;
using vgpualloc::pod_id;

constexpr int operations_max = 96;
constexpr std::uint32_t pods_max = 24;
constexpr std::uint32_t claims_max = 6;
constexpr int trials_deep_max = 3;

class program {
public:
    program(const property::world& world, byte_reader& bytes) : world_{&world}, bytes_{&bytes}, book_{world.owned} {}

    void run() {
        while (left_ > 0 && !bytes_->empty()) step();
        require_rebuilds();
        release_all();
    }

private:
    void step() {
        --left_;
        const operation next = fuzzing::next_operation(*bytes_);
        apply(next);
        book_.check();
        const std::string violation = tolerated_ ? "" : property::violation(book_);
        if (!violation.empty()) std::fprintf(stderr, "fuzz: %s\n", violation.c_str());
        require(violation.empty(), "an independent count agrees");
    }

    void apply(const operation& next) {
        const std::uint32_t generation = next.salt / pods_max % 2;
        const owner_id owner = next.salt % 4 == 3 ? owner_id{claim_id{next.salt / 4 % claims_max, generation}}
                                                  : owner_id{pod_id{next.salt % pods_max, generation}};
        switch (next.kind % 12) {
        case 0:
        case 1:
        case 2:
            return reserve(next, owner);
        case 3:
            return adopt(next, owner);
        case 4:
            return finish(owner, [](ledger& book, owner_id of) { return book.commit(of); });
        case 5:
            return finish(owner, [](ledger& book, owner_id of) { return book.rollback(of); });
        case 6:
            return finish(owner, [](ledger& book, owner_id of) { return book.release(of); });
        case 7:
            return try_out(next);
        case 8:
            return change_node(next);
        case 9:
            return describe_node(next);
        case 10:
            return set_service(next);
        default:
            return checkpoint(next);
        }
    }

    [[nodiscard]] vgpualloc::booking booking_for(const operation& next, owner_id owner) const {
        const auto& request = world_->requests[next.request % world_->requests.size()];
        auto result = property::some_booking(book_.nodes(), request, owner, next.salt / 7);
        if (next.request % 3 == 0) name_claims(next, result);
        if (next.kind % 5 != 4 || result.where.shares.empty()) return result;
        auto& share = result.where.shares[0]; // what no caller should try
        if (next.salt % 3 == 0) share.device = other_device(result.where, next.salt % 7);
        if (next.salt % 3 == 1) share.part = vgpualloc::mig_instance{.profile = next.salt % 9, .start = next.salt % 11};
        if (next.salt % 3 == 2) result.where.node = node_index{next.salt % 9};
        return result;
    }

    /// Claims that may be live, and be on the node; mostly the node of one that is.
    void name_claims(const operation& next, vgpualloc::booking& entry) const {
        const auto live = book_.live_claims();
        if (!live.empty() && next.salt % 8 != 0) {
            entry.claims.push_back(live[next.salt / 3 % live.size()]);
            entry.where.node = book_.booking_of(*entry.claims.begin()).where.node;
            entry.where.shares.clear();
        }
        if (next.salt % 5 == 0) entry.claims.push_back(claim_id{next.salt % claims_max, next.request % 2});
    }

    /// That device, which may not be there, unless the container has it already: the ledger leaves that to its callers.
    [[nodiscard]] static device_index other_device(const vgpualloc::placement& where, std::uint32_t number) {
        for (const vgpualloc::device_share& share : where.shares) {
            if (share.device.value() == number) return where.shares[0].device;
        }
        return device_index{number};
    }

    void reserve(const operation& next, owner_id owner) {
        const bool live = book_.is_live(owner);
        const auto booked = book_.reserve(booking_for(next, owner));
        require(!live || !booked, "an owner that is live is not booked again");
        require(book_.is_live(owner) == (live || booked.has_value()), "an owner is live from its booking on");
    }
    void adopt(const operation& next, owner_id owner) {
        if (book_.adopt(booking_for(next, owner))) tolerated_ = true;
    }
    template <class Finish>
    void finish(owner_id owner, Finish&& finish) {
        const auto before = property::use_of(book_);
        const bool live = book_.is_live(owner);
        const bool in_use = owner.is_claim() && book_.users_of(owner.claim()) > 0;
        const auto result = finish(book_, owner);
        require(live || !result, "an owner that is not live is refused");
        require(!in_use || book_.is_live(owner), "a claim that pods use stays");
        if (!result) require(property::use_of(book_) == before, "what is refused changes nothing");
    }

    void try_out(const operation& next) {
        if (depth_ == trials_deep_max) return;
        ++depth_;
        const auto before = property::use_of(book_);
        const auto nodes = book_.nodes().nodes;
        const bool keep = next.salt % 3 == 0;
        const bool tolerated = tolerated_;
        {
            vgpualloc::trial open{book_};
            for (std::uint32_t i = 0; i < 1 + next.request % 6 && left_ > 0; ++i) step();
            if (keep) open.keep();
        }
        --depth_;
        if (keep) return;
        tolerated_ = tolerated;
        require(property::use_of(book_) == before, "a trial that is undone has not been");
        require(book_.nodes().nodes == nodes, "a trial that is undone leaves the nodes as they were");
    }

    void change_node(const operation& next) {
        const node_index where{next.salt % (book_.nodes().nodes.size() + 1)}; // one may not be there
        switch (next.request % 3) {
        case 0:
            static_cast<void>(book_.remove_node(where).has_value());
            break;
        case 1:
            static_cast<void>(book_.set_schedulable(where, next.kind % 2 == 0).has_value());
            break;
        default:
            static_cast<void>(book_.add_node(world_->owned.nodes[next.salt % world_->owned.nodes.size()]).has_value());
            break;
        }
    }
    void describe_node(const operation& next) {
        const node_index where{next.salt % book_.nodes().nodes.size()};
        vgpualloc::node described = book_.nodes().nodes[where.at()];
        auto& devices = described.devices;
        if (next.request % 2 == 0) described.cpu = vgpualloc::milli_cpu{(next.salt % 9) * 1000};
        if (next.request % 3 == 0) described.pods_max = next.salt % 4;
        if (next.request % 5 == 0) std::ranges::reverse(devices);
        if (next.request % 7 == 0 && !devices.empty()) devices.pop_back();
        if (next.request % 11 == 0 && !devices.empty()) devices.push_back(devices.front()); // a uuid twice, or none
        if (next.request % 4 == 0 && !devices.empty()) {
            devices.front().kind = next.salt % static_cast<std::uint32_t>(world_->owned.kinds.size() + 1);
        }
        if (book_.update_node(where, std::move(described))) tolerated_ = true;
    }
    void set_service(const operation& next) {
        const node_index where{next.salt % (book_.nodes().nodes.size() + 1)};
        static_cast<void>(book_
                              .set_service(where, device_index{next.request % 5},
                                           static_cast<vgpualloc::service_state>(next.request / 5 % 4))
                              .has_value());
    }
    void checkpoint(const operation& next) {
        if (next.salt % 4 != 0) return;
        if (depth_ == 0) cut_ = true;
        book_.checkpoint(book_.next_event());
    }

    void require_rebuilds() const {
        if (!cut_) {
            const auto replayed = ledger::rebuild(world_->owned, book_.log());
            require(replayed.has_value(), "a log can be replayed");
            require(replayed->same_use(book_) && book_.same_use(*replayed), "the log gives the same ledger");
        }
    }

    void release_all() {
        std::vector<owner_id> owners; // pods first: they use claims
        for (const pod_id pod : book_.live_pods()) owners.emplace_back(pod);
        for (const claim_id claim : book_.live_claims()) owners.emplace_back(claim);
        for (const owner_id owner : owners) {
            if (!book_.is_committed(owner)) require(book_.commit(owner).has_value(), "what is reserved is committed");
        }
        for (const owner_id owner : owners) {
            require(book_.release(owner).has_value(), "what is committed can be released");
            book_.check();
        }
        require(book_.live_count() == 0, "nothing is left");
        for (const vgpualloc::host_use& host : property::use_of(book_).hosts) {
            require(host == vgpualloc::host_use{}, "no use is left on a host");
        }
        for (const vgpualloc::device_state& device : property::use_of(book_).devices) {
            require(device == vgpualloc::device_state{}, "no use is left on a device");
        }
    }

    const property::world* world_;
    byte_reader* bytes_;
    ledger book_;
    int left_ = operations_max;
    int depth_ = 0;
    bool cut_ = false;       ///< the log begins later than the ledger
    bool tolerated_ = false; ///< what runs may be more than there is
};

} // namespace

void fuzzing::fuzz(std::string_view input) {
    byte_reader bytes{input};
    constexpr property::world_kind kind{.names = true};
    program{world_of(bytes.word(2), kind), bytes}.run();
}
