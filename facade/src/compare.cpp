#include "vgpufacade/compare.hpp"

#include "telling.hpp"

namespace vgpufacade {

expected<vgpusim::named_texts> comparison::files(const progress& follow) const {
    const stop_signal stop{follow.stop};
    auto files = vgpusim::comparison_files(records, loaded, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    return files;
}

expected<prepared_comparison> prepared_comparison::prepare(const vgpuformats::input_source& source,
                                                           vgpusim::run_config config,
                                                           std::vector<std::string> policies, const progress& follow) {
    if (auto checked = vgpusim::check_policies(policies); !checked) return unexpected(std::move(checked).error());
    if (auto used = vgpusim::check_prices(config, policies); !used) return unexpected(std::move(used).error());
    auto loaded = vgpusim::load_input(config, source, stop_signal{follow.stop});
    if (!loaded) return unexpected(std::move(loaded).error());
    // What can be refused at once is refused before the first replay, which may take long.
    if (auto checked = vgpusim::check_policy_names(policies); !checked) return unexpected(std::move(checked).error());
    return prepared_comparison{std::move(config), std::move(policies), *std::move(loaded)};
}

expected<comparison> prepared_comparison::run(const progress& follow) && {
    const std::size_t pods = loaded_.input.pods.size();
    auto records = vgpusim::compare(
        config_, loaded_, policies_, [&](const std::string& policy) { return teller(follow, policy, pods); },
        stop_signal{follow.stop});
    if (!records) return unexpected(std::move(records).error());
    return comparison{.loaded = std::move(loaded_), .records = *std::move(records)};
}

} // namespace vgpufacade
