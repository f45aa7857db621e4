// The built-in MIG models, looking models up, and merging files into them.
#include <algorithm>
#include <string>
#include <utility>

#include "vgpualloc/catalog/mig.hpp"

#include "built_in.hpp"
#include "matching.hpp"
#include "merging.hpp"
#include "mig_checks.hpp"

namespace vgpualloc {

namespace {

[[nodiscard]] bool is_exactly(const mig_model& model, std::string_view text) {
    return model.name == text || std::ranges::find(model.card_types, text) != model.card_types.end() ||
           std::ranges::find(model.pci_ids, text) != model.pci_ids.end();
}

template <class Named>
[[nodiscard]] std::string names(const std::vector<Named>& list) {
    std::string all;
    for (const auto& item : list) all += (all.empty() ? "one of " : ", ") + item.name;
    return all;
}

} // namespace

namespace detail {

std::optional<clash> clash_of(const mig_catalog& catalog, const mig_model& model) {
    for (const mig_model& other : catalog.models) {
        if (other.name == model.name) return clash{"key", model.name, "every model once"};
        if (const auto type = common_text(model.card_types, other.card_types)) {
            return clash{"card_types", *type, "card types of its own: '" + *type + "' is one of " + other.name};
        }
        if (const auto id = common_text(model.pci_ids, other.pci_ids)) {
            return clash{"pci_device_ids", *id, "PCI ids of its own: " + *id + " is one of " + other.name};
        }
    }
    return std::nullopt;
}

} // namespace detail

const mig_catalog& built_in_mig_catalog() {
    static const mig_catalog catalog =
        detail::well_formed(read_mig_catalog(built_in::mig_profiles(), "data/mig-profiles.json"));
    return catalog;
}

expected<mig_catalog> merge(const mig_catalog& base, const mig_catalog& more) {
    mig_catalog others = base;
    others.models = detail::not_replaced(std::move(others.models), more.models);
    for (const mig_model& model : more.models) {
        if (const auto clash = detail::clash_of(others, model)) {
            return unexpected(bad_value(error_code::duplicate, clash->field, clash->value,
                                        clash->expected + ", which a model of that name would replace")
                                  .at("model '" + model.name + "'"));
        }
    }
    mig_catalog result = base;
    detail::put(result.models, more.models);
    for (const auto& [code, meaning] : more.sources) result.sources.insert_or_assign(code, meaning);
    for (const auto& [what, why] : more.left_out) result.left_out.insert_or_assign(what, why);
    return result;
}

expected<const mig_model*> find_model(const mig_catalog& catalog, std::string_view text) {
    for (const mig_model& model : catalog.models) {
        if (is_exactly(model, text)) return &model;
    }
    const auto [best, rival] = detail::longest_match(catalog.models, text);
    if (best == nullptr) {
        return unexpected(bad_value(error_code::unknown_name, "MIG model", text, names(catalog.models)));
    }
    if (rival != nullptr) {
        return unexpected(bad_value(error_code::mismatch, "MIG model", text,
                                    "a text that names one model, this names " + best->name + " and " + rival->name));
    }
    return best;
}

expected<const mig_profile*> find_profile(const mig_model& model, std::string_view name) {
    const auto match = std::ranges::find(model.profiles, name, &mig_profile::name);
    if (match != model.profiles.end()) return &*match;
    return unexpected(bad_value(error_code::unknown_name, "profile", name, names(model.profiles))
                          .at("MIG model '" + model.name + "'"));
}

error unknown_in_catalog(std::string_view model, std::string_view profile, std::string_view field) {
    std::string where = "model '" + std::string{model} + "'";
    if (!profile.empty()) where += ": profile '" + std::string{profile} + "'";
    return bad_input(error_code::missing, field, "unknown in the catalog").at(where);
}

} // namespace vgpualloc
