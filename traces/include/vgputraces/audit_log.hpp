// What an API server's audit log says of pods: what they asked for, and when they came, were bound and ended.
#pragma once

#include <memory>
#include <string>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Reads events of audit.k8s.io/v1, one in a line or in EventLists, text by text in any order. Read are those that
/// succeeded (stage ResponseComplete) of pods: create, binding, eviction, delete, and patch or update of the status.
///
/// What a pod asks for and when it was created comes from the first object of it that has a spec. It starts with its
/// binding; without one when it was scheduled by its status. It ends when its last container ended by a status with
/// phase Succeeded or Failed, or else with the last delete. One that does neither stays. A pod is another one of the
/// same name after a create, or with another uid.
class audit_log_reader {
public:
    explicit audit_log_reader(const row_options& options);
    ~audit_log_reader();
    audit_log_reader(const audit_log_reader&) = delete;
    audit_log_reader& operator=(const audit_log_reader&) = delete;

    /// Errors name file, line, field and value, unless bad rows are skipped: no JSON, no event, no time, no quantity.
    [[nodiscard]] expected<void> add(const vgpuformats::list_content& content, const std::string& name);

    /// Once, after all texts. Errors: no pod that was bound and has a spec.
    [[nodiscard]] expected<accounting> finish();

private:
    struct events_read;
    std::unique_ptr<events_read> read_;
};

} // namespace vgputraces
