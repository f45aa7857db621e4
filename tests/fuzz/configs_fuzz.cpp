// Device configurations and scheduler configurations, as files and as ConfigMaps, and what dialects make of them.
#include "fuzz.hpp"

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/explain/validate.hpp"
#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/live/live_options.hpp"

namespace {

/// A pod and a node in the words of several dialects, which read them whatever they are configured with.
const std::vector<vgpualloc::kube::manifest>& some_objects() {
    static const auto objects = vgpualloc::kube::read_manifests(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: a}}
spec:
  containers:
  - name: vgpu
    resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 3000, volcano.sh/vgpu-cores: 50}}
  - name: gpu
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 1000}}
  - name: npu
    resources: {limits: {huawei.com/Ascend910B: 1, huawei.com/Ascend910B-memory: 16384}}
---
apiVersion: v1
kind: Node
metadata:
  name: n
  annotations:
    volcano.sh/node-vgpu-register: "GPU-1,10,40960,NVIDIA-A100,true,mig:"
    hami.io/node-nvidia-register: "GPU-2,10,40960,100,NVIDIA A100-SXM4-40GB,0,true,0,hami-core:"
    hami.io/node-register-Ascend910B: '[{"id":"NPU-1","count":4,"devmem":65536,"type":"Ascend910B","health":true}]'
status:
  allocatable: {cpu: "8", memory: 32Gi, volcano.sh/vgpu-number: "10", volcano.sh/vgpu-memory: "40960",
                volcano.sh/vgpu-cores: "100", nvidia.com/gpu: "10", huawei.com/Ascend910B: "4"}
)",
                                                                "objects")
                                    .value();
    return objects;
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    const std::string text{input};
    static const vgpualloc::dialect_config base = vgpualloc::make_dialect_config();
    const auto config = vgpualloc::kube::read_device_config(base, text, "input");
    if (config) {
        for (const vgpualloc::error& warning : config->devices.warnings) require_readable(warning);
        const vgpualloc::dialect_set dialects{*config};
        const auto reports = vgpualloc::explaining::validate(some_objects(), dialects);
        require_json(vgpualloc::explaining::validate_json(reports, {}));
    } else {
        require_readable(config.error());
    }
    const auto scheduler = vgpualloc::read_scheduler_config(text, "input");
    if (!scheduler) return require_readable(scheduler.error());
    const auto& arguments = scheduler->deviceshare;
    vgpualloc::dialect_config with_rules = base;
    apply_arguments(arguments, with_rules);
    const vgpualloc::dialect_set dialects{with_rules};
    for (const vgpualloc::kube::manifest& object : some_objects()) {
        if (!object.pod) continue;
        for (const auto& dialect : dialects) {
            const auto enabled = dialects.check_enabled(arguments, dialect->name(), *object.pod);
            if (!enabled) require_readable(enabled.error());
            const auto served = dialects.check_served(arguments, dialect->name(), *object.pod);
            if (!served) require_readable(served.error());
        }
    }
}
