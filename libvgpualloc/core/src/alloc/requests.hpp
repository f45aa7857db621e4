// The requests that an allocator knows: each as the groups of nodes see it, alike ones sharing an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "alloc/index.hpp"
#include "alloc/mirror.hpp"
#include "alloc/scorer.hpp"
#include "alloc/use_list.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// Requests that every node of a group answers alike: model and mode filters that all its devices pass are gone, and so
/// is the host memory, which no score depends on.
struct request_class {
    scored_request scored;                ///< without names of devices
    std::unique_ptr<pod_request> named{}; ///< with them, where the answer may depend on which device it is
    bool always_named = false;            ///< it depends on that on every node
    bool restricts = false;               ///< host_rules::restricts()
    bool lists_uuids = false;             ///< the first container has a list of what it accepts: few nodes do
    std::uint64_t epoch = 0;              ///< of the policies when the indexes were built
    std::uint32_t users = 0;              ///< parts of requests
    std::deque<index_head> heads{};       ///< by group; stay where they are
};

/// A request as one group sees it.
struct request_part {
    std::uint32_t class_number = 0;
    rejection_code refused = rejection_code::none; ///< the whole group is out of the question
    index_head* head = nullptr;                    ///< of the class and the group; null if refused
};

struct request_record : use_links<request_record> {
    static constexpr std::uint64_t no_epoch = ~std::uint64_t{0};

    const pod_request* original = nullptr; ///< null: the number is free
    std::vector<request_part> parts{};     ///< by group
    std::uint64_t epoch = no_epoch;        ///< of the policies that the classes of the parts have entered
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
};

class request_table {
public:
    request_table(cluster_mirror& mirror, node_scorer& scorer, index_cache& indexes, pair_traits traits,
                  std::size_t requests_max)
        : mirror_{&mirror}, scorer_{&scorer}, indexes_{&indexes}, traits_{traits}, requests_max_{requests_max} {}

    /// The number of a request; equal requests have the same one. Errors: those of check_request().
    [[nodiscard]] expected<request_id> intern(const pod_request& request);
    /// Null if it was forgotten.
    [[nodiscard]] request_record* find(request_id id) noexcept {
        const bool known = id.at() < records_.size() && records_[id.at()].original != nullptr &&
                           records_[id.at()].generation == id.generation();
        return known ? &records_[id.at()] : nullptr;
    }
    /// Notes that a decision is made for it, of policies in this epoch: it has a part for every group, and scores of
    /// another epoch are void.
    void use(request_record& request, std::uint64_t epoch) {
        request.last_use = ++now_;
        if (request.epoch != epoch || request.parts.size() != mirror_->groups().size()) enter(request, epoch);
    }
    /// Gives a request a class of its own host memory in one group. Most requests never need it: where the best node
    /// has the memory anyway, classes that differ in nothing else share one index.
    void split_class_by_memory(request_record& request, std::uint32_t group);
    [[nodiscard]] request_class& class_of(const request_part& part) noexcept { return classes_[part.class_number]; }

    [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
    [[nodiscard]] std::size_t class_count() const noexcept { return class_numbers_.size(); }

private:
    void enter(request_record& request, std::uint64_t epoch);
    [[nodiscard]] request_part part_for(const pod_request& request, std::uint32_t group);
    /// Whether some mode there has a say before the policies: parts that fall short, or units that a device plugin
    /// gives out in an order of its own.
    [[nodiscard]] bool modes_choose_first(const pod_request& request, const node_group& group) const;
    void set_class(request_part& part, std::uint32_t group, pod_request seen, bool named, bool always_named);
    void leave_class(const request_part& part);
    [[nodiscard]] std::uint32_t new_class(pod_request seen, bool named, bool always_named);
    void forget(request_record& request);

    cluster_mirror* mirror_;
    node_scorer* scorer_;
    index_cache* indexes_;
    pair_traits traits_;
    std::size_t requests_max_;
    std::uint64_t now_ = 0;
    std::map<pod_request, std::uint32_t> numbers_;
    std::deque<request_record> records_;
    std::vector<std::uint32_t> free_records_;
    use_list<request_record> uses_;
    /// What classes are told apart by; the request is kept by the class.
    struct class_key {
        const pod_request* request = nullptr;
        bool always_named = false;
        friend bool operator<(const class_key& a, const class_key& b) {
            const auto order = *a.request <=> *b.request;
            return order != 0 ? order < 0 : a.always_named < b.always_named;
        }
    };
    std::map<class_key, std::uint32_t> class_numbers_;
    std::deque<request_class> classes_;
    std::vector<std::map<class_key, std::uint32_t>::iterator> class_keys_; ///< by class
    std::vector<std::uint32_t> free_classes_;
};

} // namespace vgpualloc
