// Kueue's Workload objects: which jobs waited in which queue, were admitted and finished.
#pragma once

#include <memory>
#include <string>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Reads Workloads (kueue.x-k8s.io), as `kubectl get workloads -A -o json` prints them, text by text. A Workload
/// arrives when it was created, starts when it was last admitted (condition Admitted, or QuotaReserved where that is
/// missing) and ends with condition Finished; one that has not finished stays. Every pod set is a job, with as many
/// pods as were admitted; those of one Workload start together. A Workload that is there
/// several times counts as it was last.
class kueue_reader {
public:
    explicit kueue_reader(const row_options& options);
    ~kueue_reader();
    kueue_reader(const kueue_reader&) = delete;
    kueue_reader& operator=(const kueue_reader&) = delete;

    /// Errors name file, line, field and value: no JSON; and unless bad rows are skipped, what is no Workload's field.
    [[nodiscard]] expected<void> add(const vgpuformats::list_content& content, const std::string& name);

    /// Once, after all texts. Errors: no Workload that was admitted.
    [[nodiscard]] expected<accounting> finish();

private:
    struct workloads_read;
    std::unique_ptr<workloads_read> read_;
};

} // namespace vgputraces
