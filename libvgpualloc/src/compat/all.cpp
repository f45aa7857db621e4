// The list of policies a run can name.
#include "vgpualloc/compat/all.hpp"

#include "vgpualloc/compat/fgd/policies.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpusim {

const std::vector<vgpualloc::policy_entry>& all_policies() {
    static const std::vector<vgpualloc::policy_entry> list = [] {
        std::vector<vgpualloc::policy_entry> all(vgpualloc::native_policies.begin(), vgpualloc::native_policies.end());
        all.insert(all.end(), vgpualloc::compat::fgd_policies.begin(), vgpualloc::compat::fgd_policies.end());
        return all;
    }();
    return list;
}

vgpualloc::expected<std::unique_ptr<vgpualloc::policy>> make_policy(std::string_view spelling,
                                                                    const vgpualloc::policy_parameters& parameters) {
    return vgpualloc::parse_policy(spelling, all_policies(), parameters);
}

} // namespace vgpusim
