// Policy spellings.
#include "vgpualloc/policy/parse.hpp"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc {

namespace {

constexpr std::string_view weighted_prefix = "weighted:";
constexpr double weight_max = 1e6; // keeps sums of scores far from where a double ends

error bad_policy(error_code code, std::string_view value, std::string expected_text) {
    return bad_value(code, "policy", value.empty() ? "\"\"" : std::string{value}, std::move(expected_text));
}

expected<std::unique_ptr<policy>> by_name(std::string_view name, std::span<const policy_entry> known,
                                          const policy_parameters& parameters) {
    std::string list;
    for (const policy_entry& entry : known) {
        if (entry.name == name) return entry.make(parameters);
        list += std::string{entry.name} + ", ";
    }
    return unexpected(bad_policy(error_code::unknown_name, name, "one of " + list + "weighted:NAME=WEIGHT,…"));
}

expected<policies::weighted::term> parse_term(std::string_view text, std::span<const policy_entry> known,
                                              const policy_parameters& parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
        return unexpected(bad_policy(error_code::malformed, text, "terms of the form NAME=WEIGHT joined by commas"));
    }
    const std::string_view number = text.substr(equals + 1);
    double weight = 0.0;
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), weight);
    if (failure != std::errc{} || end != number.data() + number.size() || !(std::abs(weight) <= weight_max)) {
        return unexpected(
            bad_policy(error_code::malformed, text, "a decimal number from -1000000 to 1000000 as weight"));
    }
    auto scorer = by_name(text.substr(0, equals), known, parameters);
    if (!scorer) return unexpected(std::move(scorer.error()));
    if (!policies::weighted::can_be_a_term(**scorer)) {
        return unexpected(
            bad_policy(error_code::unsupported, text, "a policy that scores; a drawn one cannot be weighted"));
    }
    return policies::weighted::term{.scorer = std::move(*scorer), .weight = weight};
}

} // namespace

expected<std::unique_ptr<policy>> parse_policy(std::string_view spelling, std::span<const policy_entry> known,
                                               const policy_parameters& parameters) {
    if (!spelling.starts_with(weighted_prefix)) return by_name(spelling, known, parameters);
    std::vector<policies::weighted::term> terms;
    bool some_weight = false;
    std::string_view rest = spelling.substr(weighted_prefix.size());
    while (true) {
        const std::size_t comma = rest.find(',');
        auto parsed = parse_term(rest.substr(0, comma), known, parameters);
        if (!parsed) return unexpected(std::move(parsed.error()));
        some_weight = some_weight || parsed->weight != 0.0;
        terms.push_back(std::move(*parsed));
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    if (!some_weight) return unexpected(bad_policy(error_code::out_of_range, spelling, "a weight other than 0"));
    return std::unique_ptr<policy>{std::make_unique<policies::weighted>(std::string{spelling}, std::move(terms))};
}

expected<owned_policies> parse_policies(std::string_view node, std::string_view device,
                                        std::span<const policy_entry> known, const policy_parameters& parameters) {
    owned_policies result;
    auto of_nodes = parse_policy(node, known, parameters);
    if (!of_nodes) return unexpected(std::move(of_nodes).error());
    result.node = *std::move(of_nodes);
    if (device.empty()) return result;
    auto of_devices = parse_policy(device, known, parameters);
    if (!of_devices) {
        of_devices.error().field = "device_policy";
        return unexpected(std::move(of_devices).error());
    }
    result.device = *std::move(of_devices);
    return result;
}

} // namespace vgpualloc
