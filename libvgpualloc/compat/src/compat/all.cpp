// The list of policies a run can name.
#include "vgpualloc/compat/all.hpp"

#include "vgpualloc/compat/fgd/policies.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {

const std::vector<policy_entry>& all_policies() {
    static const std::vector<policy_entry> list = [] {
        std::vector<policy_entry> all(native_policies.begin(), native_policies.end());
        all.insert(all.end(), compat::fgd_policies.begin(), compat::fgd_policies.end());
        return all;
    }();
    return list;
}

expected<std::unique_ptr<policy>> make_policy(std::string_view spelling, const policy_parameters& parameters) {
    return parse_policy(spelling, all_policies(), parameters);
}

expected<owned_policies> make_policies(std::string_view node, std::string_view device,
                                       const policy_parameters& parameters) {
    return parse_policies(node, device, all_policies(), parameters);
}

} // namespace vgpualloc
