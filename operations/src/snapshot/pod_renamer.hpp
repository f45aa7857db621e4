// Changes pods and templates of pods in place: names into pseudonyms.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "renamer.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuops::snapshots {

class pod_renamer : protected renamer {
protected:
    explicit pod_renamer(const kube::snapshot& state) : renamer{state} {}

    void change_pod(document& object, document& metadata);
    /// A template has labels, annotations and a specification.
    void change_template(document& value);
    /// Who made an object. `labels` are those of its pods: a ReplicaSet has the name of its Deployment and the value of
    /// a label.
    void change_owners(document& metadata, const document* labels);
    std::string owner_name(const std::string& written, const document* labels);
    /// Those but Ready say nothing here.
    void change_conditions(document& status);
    void change_taints(document& spec, std::string_view member);
    void change_selector(document& holder, std::string_view member);
    void rename_scheduler(document& spec);
    void rename_priority(document& value);
    /// Items of that kind; others are of no shape that is read.
    void change_items(document& holder, std::string_view member, vgpuformats::value_kind kind,
                      const std::function<void(document&)>& change_item);

private:
    void change_pod_spec(document& spec);
    [[nodiscard]] bool is_known_scheduler(const std::string& scheduler) const;
    void change_containers(document& spec, std::string_view member);
    void change_resources(document& holder);
    void change_affinity(document& spec);
    void change_domains(document& term);
    void change_pod_term(document& term);
    void change_spread(document& spec);
    void change_term(document& term);
    void change_requirement(document& entry, bool of_fields);

    std::map<std::string, std::string> hashes_; ///< of templates, by the ReplicaSet that is called by one
};

} // namespace vgpuops::snapshots
