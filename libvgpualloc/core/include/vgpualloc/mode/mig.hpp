// MIG by the placements of the catalog: any set of instances that the GPU itself would take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_states.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/entry.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// What a mig decides with, all of it made once from a model.
struct mig_table {
    static constexpr std::size_t places_max = 64; ///< of one model: a set of them is one word

    struct profile {
        std::optional<mib> memory;  ///< usable in an instance; empty where the catalog does not know it
        mib at_least;               ///< memory_bounds(): what is known of it, and the memory where that is known
        std::optional<mib> at_most; ///< likewise
        mig_units units;
        mig_compute compute;
        core_percent cores;       ///< charged: the share of the compute slices, rounded down so that all add up
        std::uint64_t places = 0; ///< that an empty GPU takes, one bit for each start
        std::uint32_t first = 0;  ///< position of its lowest start's bit
        std::uint64_t starts = 0; ///< units at which one may start
    };
    /// A total of the GPU that does not follow from the pairs of places that exclude each other.
    struct total {
        std::int64_t most = 0;
        std::vector<std::int64_t> taken; ///< by profile
    };

    mig_model model;
    std::vector<profile> profiles;      ///< as in the model
    std::vector<std::uint32_t> by_size; ///< those given by memory: ascending memory, units, compute slices
    std::array<std::uint64_t, places_max> excluded{}; ///< by place: the places that cannot stand beside it, and itself
    std::array<std::uint32_t, places_max> profile_of{}; ///< by place
    std::vector<total> totals;
    /// The same as tables over all states, where the model is not too large for them: what legal states are asked.
    /// States that a GPU cannot be in, as two schedulers' bookings can make them, are what the rest is for.
    std::optional<mig_states> states;
};

/// A GPU of one model. mig_instance::profile is a position in mig_model::profiles, `start` a unit of the grid; its
/// cores are not looked at, as an instance has the compute slices that it has. device_state::layout has one bit per
/// place (profile and start).
///
/// A request gets the smallest profile, by usable memory and then compute slices, that has the memory asked for and at
/// least the share of compute slices asked for, and a free start; all its free starts are candidates, first the one
/// that leaves the most starts for further instances (mig_states::best_place), then the others, lowest first. Memory in
/// percent is of the GPU's memory slices. Profiles with or without video or graphics engines are given only if the
/// request names them.
///
/// Where the catalog does not know the memory of a profile, it is within memory_bounds() (catalog/mig_memory.hpp). A
/// request that this does not decide for is refused with instance_memory_unknown, if a free instance of that profile
/// would be the smallest; a request by name, in percent or for the largest instance needs no memory. An instance of
/// unknown memory is charged its share of the memory slices.
class mig final : public named<"mig", sharing_mode>, public placed_parts {
public:
    /// By the registered groups if there are any (mode/mig_groups.hpp), else by the places of the model.
    [[nodiscard]] static expected<shared_mode> make(const device_registration& device, const mig_catalog& catalog);
    static constexpr auto key =
        &made_from<&device_registration::model, &device_registration::offers, &device_registration::geometry,
                   &device_registration::memory_factor, &device_registration::units>;
    [[nodiscard]] static device_registration example(); ///< an A100 of 40 GB, as the catalog has it

    explicit mig(mig_table table) : table_{std::move(table)} {} ///< of make_mig

    [[nodiscard]] const mig_model& model() const noexcept { return table_.model; }

    /// Memory as the catalog knows it, or no less than the largest instance has; a slot for each compute slice.
    [[nodiscard]] device_spec adapted(device_spec spec) const override;

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override;
    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override;
    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override;
    [[nodiscard]] device_state with(const device_spec& device, const device_state& state,
                                    const partition& part) const override;
    [[nodiscard]] device_state without(const device_spec& device, const device_state& state,
                                       const partition& part) const override;
    /// 1000 x the larger of the shares of memory slices and compute slices.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override;

    /// How many instances of a profile (a position in mig_model::profiles) can still be made, each where one may start.
    [[nodiscard]] std::int64_t further_instances(const device_state& state, std::size_t profile) const noexcept;
    /// How many the free memory slices, compute slices and engines are enough for, wherever they lie; no more than an
    /// empty GPU takes.
    [[nodiscard]] std::int64_t further_by_amount(const device_state& state, std::size_t profile) const noexcept;

    [[nodiscard]] std::int64_t further(const device_spec& device, const device_state& state,
                                       const device_request& request, std::int64_t most) const override;
    [[nodiscard]] const placed_parts* placed() const noexcept override { return this; }
    /// All profiles of the model; units are those of its grid.
    [[nodiscard]] slot_shape slots() const override;
    void list_free_slots(const device_state& state, free_slots& out) const override;
    /// All states that the GPU can be in, for planners that go through them; null where they are too many.
    [[nodiscard]] const mig_states* states() const noexcept { return table_.states ? &*table_.states : nullptr; }

    /// Profiles of kind core, which placements are counted with in the literature.
    [[nodiscard]] std::vector<std::string> placed_profiles() const override;
    [[nodiscard]] std::int64_t stranded_slices(const device_state& state, std::size_t profile) const override;

    /// A profile that is named asks for its memory slices and compute slices, and without memory or profile the whole
    /// GPU is asked for.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override;

    [[nodiscard]] part_description describe(const device_spec& device, const partition& part) const override;
    /// Memory in percent is counted in percent.
    [[nodiscard]] amount_unit unit_of(rejection_code code, const device_request& request) const override;

private:
    struct choice; ///< a profile with the places it could have, or why there is none
    enum class answer { no, yes, unknown };

    [[nodiscard]] choice choose(const device_spec& device, const device_state& state,
                                const device_request& request) const;
    [[nodiscard]] choice choose_named(const device_spec& device, const device_state& state,
                                      const device_request& request) const;
    [[nodiscard]] rejection_detail why_never_enough(const device_spec& device, const device_request& request) const;
    [[nodiscard]] bool has_compute(std::size_t profile, const device_request& request) const;
    [[nodiscard]] answer has_memory(const device_spec& device, std::size_t profile,
                                    const device_request& request) const;
    [[nodiscard]] rejection_detail why_unknown(std::size_t profile, const device_request& request) const;
    [[nodiscard]] mib memory_at_most(const device_spec& device, std::size_t profile) const;
    [[nodiscard]] mib charge(const device_spec& device, std::size_t profile) const;
    [[nodiscard]] std::uint64_t excluded_by(std::uint64_t layout) const noexcept;
    [[nodiscard]] bool exceeds_a_total(std::uint64_t layout, std::size_t profile) const noexcept;
    [[nodiscard]] std::uint64_t free_places(std::uint64_t layout, std::size_t profile) const noexcept;
    [[nodiscard]] mig_state_id state_of(std::uint64_t layout) const noexcept;
    [[nodiscard]] std::uint64_t bit_of(const mig_instance& instance) const noexcept; ///< 0: no such place

    mig_table table_;
};

/// The mode of one GPU model. Error unsupported, if the model has more places than a word has bits.
[[nodiscard]] expected<std::shared_ptr<const mig>> make_mig(const mig_model& model);

} // namespace vgpualloc::modes
