// What pods that arrive ask for, learned with every arrival: the classes of requests that bid_price prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/learned_prices.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/price_descent.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc {

/// Constants of the learning; docs/bid-price.md says how they were chosen.
struct bid_options {
    double window_arrivals = 2000;      ///< W: in which the weight of an arrival falls to 1/e, in small clusters
    double window_per_device = 1.0 / 3; ///< W is at least this times the devices of the cluster
    std::int64_t relearn_every = 500;   ///< arrivals from one list of classes to the next; before these 1, 2, 4, 8, …
    std::int64_t devices_per_relearn = 16; ///< devices for each arrival more between two lists, in large clusters
    std::int64_t early_lists_from = 512; ///< no list but the first is made before this part of the arrivals between two
    std::int64_t descent_steps = 512;    ///< of the prices of rests, with every list of classes, where nobody leaves
    std::int64_t descent_steps_turning = 64; ///< the same at full turnover
    double smoothing = 0.01;                 ///< of the number of running pods, per arrival
    std::size_t tallies_max = 256;           ///< kinds of requests that are counted; the least asked for go
    std::size_t classes_max = 64;            ///< that have prices: those most asked for
    double stock_time = 0.125;               ///< T: the part of a mean lifetime whose arrivals the slots should cover
    double turnover_full = 0.75;             ///< releases per booking at which the cluster counts as turning over
    std::int64_t devices_per_pricing = 32;   ///< devices for each arrival more between two looks at the prices
};

/// The classes in use, in a fixed order.
struct bid_classes {
    std::vector<bid_class> classes{};
    std::int64_t cpu_per_gpu = 0; ///< milli-CPU that a GPU's worth of the demand asks for
    price_table prices{};         ///< of what rests are worth, learned of the same arrivals

    bool operator==(const bid_classes&) const = default;
};

/// Counts arrivals that fade, bookings and releases. Only counts of events decide, never a clock. Sums are added up in
/// the order of the events, so that the same events give the same classes on any machine. A trial that is undone leaves
/// everything as it was.
class bid_demand {
public:
    /// `learns_prices`: whether bid_classes::prices is wanted.
    explicit bid_demand(bool learns_prices, bid_options options = {})
        : options_{options}, learns_prices_{learns_prices} {}

    /// Goes on from what an earlier run learned, as if the arrivals of a window had been of these classes.
    void expect(const learned_prices& earlier);
    /// Counts a pod that has arrived. True if classes() is a new list.
    bool note_arrival(const pod_request& request, const ledger& book);
    /// Counts a booking of devices that is made or given back.
    void observe(const policy_event& event);
    /// The same cluster, or one like it, may be another ledger from now on.
    void forget_ledger() noexcept { counted_ = nullptr; }
    void enter_trial() { before_trials_.push_back(now_); }
    /// True if classes() is another list than before.
    bool leave_trial(bool keep);

    /// Replaced, never changed: null until the first pod with devices has arrived.
    [[nodiscard]] const std::shared_ptr<const bid_classes>& classes() const noexcept { return now_.classes; }
    /// Pods with devices that are offered at a time, in Erlangs: by Little's law those that run by the accepted share.
    [[nodiscard]] double offered() const noexcept;
    /// Releases per booking, as a part of bid_options::turnover_full, 0 to 1: 0 where nobody has left yet.
    [[nodiscard]] double turnover() const noexcept;
    [[nodiscard]] std::int64_t arrivals() const noexcept { return now_.arrivals; }
    /// Devices of the cluster at the last arrival.
    [[nodiscard]] std::int64_t devices() const noexcept { return devices_; }
    [[nodiscard]] const bid_options& options() const noexcept { return options_; }

private:
    struct tally {
        bid_class of{};
        double weight = 0.0; ///< of its arrivals, faded, in units of `increment`
        double cpu = 0.0;    ///< of these, milli-CPU
    };
    /// A trial copies this; the tallies are copied when an arrival changes them.
    struct learned {
        std::shared_ptr<std::vector<tally>> tallies = std::make_shared<std::vector<tally>>();
        std::shared_ptr<const bid_classes> classes{};
        std::shared_ptr<price_descent> descent{}; ///< with pods of any model
        std::shared_ptr<price_descent> named{};   ///< with the models that pods name, where that matters
        sized_demand sizes{};
        double increment = 1.0; ///< what an arrival weighs now; it grows instead of all sums decaying
        double arrived = 0.0;
        double accepted = 0.0;
        double booked = 0.0;
        double released = 0.0;
        double running_smoothed = 0.0;
        std::int64_t running = 0;
        std::int64_t arrivals = 0; ///< with devices
    };
    /// A pod whose containers have been met: requests come again and again.
    struct known_pod {
        std::vector<device_request> containers;
        std::size_t tally = 0;
        pod_size size{};
    };

    [[nodiscard]] const known_pod& find_pod(const pod_request& request, const cluster& nodes);
    [[nodiscard]] std::size_t enter_tally(const device_request& container, std::int64_t milli);
    void scale_down();
    [[nodiscard]] bool is_due() const noexcept;
    void list_classes(const cluster& nodes);
    [[nodiscard]] price_table learn_prices(const cluster& nodes);
    [[nodiscard]] std::vector<tally>& own_tallies();
    void follow(const ledger& book);

    bid_options options_;
    bool learns_prices_;
    learned now_;
    std::vector<learned> before_trials_;               ///< for every open trial
    std::unordered_map<const void*, known_pod> known_; ///< by address of the first container
    std::size_t kinds_known_ = 0;                      ///< of devices, when known_ was filled
    const ledger* counted_ = nullptr;                  ///< whose devices were counted; compared, never read
    std::int64_t devices_ = 0;                         ///< of that one; 0: they are counted at the next arrival
};

} // namespace vgpualloc
