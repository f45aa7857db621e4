// A catalog file that is as small as one can be and still has everything, to be broken one value at a time.
#pragma once

#include <stdexcept>
#include <string>

namespace vgpualloc::test {

/// A GPU with a grid of 3 units, and a chip with two templates.
[[nodiscard]] inline std::string small_file() {
    return R"({
 "schema": "vgpualloc-catalog/1",
 "sources": {"ME": "measured here"},
 "mig": [
  {"key": "NEW-1-8GB", "memory_gb": 8, "memory_mib": 8000, "memory_slices": 3, "compute_slices": 2,
   "card_types": ["NEW-1"], "pci_device_ids": ["0x123410DE"], "engines": {"copy": 2, "jpeg": null},
   "provenance": {"*": "S:ME"},
   "profiles": [
    {"name": "1g.2gb", "kind": "core", "profile_id": 19, "compute_slices": 1, "memory_slices": 1, "starts": [0, 2],
     "size": 1, "max_instances": 2, "memory_mib": 2048, "memory_gib_shown": 2.00, "sm": null, "copy": 1, "jpeg": 5,
     "provenance": {"*": "S:ME", "starts": "D:guess"}},
    {"name": "2g.8gb", "kind": "core", "profile_id": 0, "compute_slices": 2, "starts": [0], "size": 3,
     "max_instances": 1}
   ]}
 ],
 "ascend": {
  "chips": [
   {"name": "AscendNew", "chip_name": "NewP", "resource": "huawei.com/New", "resource_memory": "huawei.com/New-memory",
    "resource_core": "huawei.com/New-core", "memory_allocatable_mib": 1000, "memory_capacity_mib": 1024, "ai_core": 8,
    "ai_cpu": 7, "provenance": {"*": "S:ME"},
    "templates": [{"name": "t1", "memory_mib": 300, "ai_core": 2, "ai_cpu": 1},
                  {"name": "t2", "memory_mib": 600, "ai_core": 4}]}
  ]
 }
}
)";
}

/// `text` with the first `from` replaced; throws if there is none, since the test would then prove nothing.
[[nodiscard]] inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("no " + from);
    return text.replace(at, from.size(), to);
}

} // namespace vgpualloc::test
