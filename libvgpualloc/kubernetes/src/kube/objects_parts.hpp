// Reading Kubernetes objects: a cursor over a document that collects problems, and the parts of an object.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/small_vector.hpp"
#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc::kube {

using kubernetes::quantity_unit;
using kubernetes::rounding;
using vgpuformats::document;
using vgpuformats::value_kind;

/// A value in a few words, for errors.
[[nodiscard]] std::string shown(const document& value);

/// In the place of an object that begins on the line of the one before it: JSON without line ends.
inline constexpr std::string_view numbered = ": object ";
/// The place of something in the object at `place`: it ends in the line where that is known.
[[nodiscard]] std::string place_at(const std::string& place, std::int32_t line);

inline constexpr const char* template_expected = "looks like a Helm template: render it first (helm template)";
/// Whether there is {{ … }} in one line of the text.
[[nodiscard]] bool is_helm_template(std::string_view text);

/// The one YAML (or JSON) document of a text. Errors: those of yaml_to_json_text().
[[nodiscard]] expected<document> one_document(std::string_view text, const std::string& name);

/// The way to a value within an object. Every cursor has one and few are told, so it becomes words only where they are
/// asked for. Keys are referred to.
class value_path {
public:
    void add_member(std::string_view key) { steps_.push_back({.key = key, .position = {}}); }
    void add_item(std::size_t position) { steps_.push_back({.key = {}, .position = position}); }
    /// As in spec.containers[0].name.
    [[nodiscard]] std::string text() const;

private:
    struct step {
        std::string_view key;
        std::optional<std::size_t> position; ///< of an item; none: a member of that key
    };
    static constexpr std::size_t usual_depth = 6; ///< of spec.containers[0].resources.limits.cpu

    small_vector<step, usual_depth> steps_;
};

/// Points at one value of an object, or at nothing. What is wrong becomes a problem with place and path; what is absent
/// is silently empty.
class object_cursor {
public:
    object_cursor(const document* value, std::string place, std::vector<error>& problems)
        : value_{value}, object_{std::make_shared<const std::string>(std::move(place))}, problems_{&problems} {}

    [[nodiscard]] bool present() const { return value_ != nullptr && value_->kind != value_kind::null; }
    /// A member; a problem if this is there but no map. The cursor refers to `key`.
    [[nodiscard]] object_cursor at(std::string_view key) const;
    template <std::same_as<std::string> Temporary>
    object_cursor at(Temporary&& key) const = delete;
    /// The entries of a list; a problem if this is there but no list.
    [[nodiscard]] std::vector<object_cursor> items() const;
    [[nodiscard]] std::vector<std::pair<std::string, object_cursor>> entries() const;

    [[nodiscard]] std::string text() const;
    /// As it stands, of a number or a text.
    [[nodiscard]] std::string scalar() const;
    [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most, std::int64_t otherwise) const;
    [[nodiscard]] bool truth(bool otherwise) const;
    [[nodiscard]] std::optional<std::int64_t> quantity(quantity_unit unit, rounding rest) const;
    /// All values have to be texts: a number or a word for truth needs quotes.
    [[nodiscard]] kubernetes::text_map texts() const;
    /// The same, but numbers do too: quantities.
    [[nodiscard]] kubernetes::text_map scalars() const;

    void fail(error_code code, const std::string& value, const std::string& expected) const;
    [[nodiscard]] const document* value() const { return value_; }
    /// The line that the value begins in; 0 where there is none.
    [[nodiscard]] std::int32_t line() const { return value_ == nullptr ? 0 : value_->place.line; }

private:
    /// To a value within this one; its path is still that of this one.
    [[nodiscard]] object_cursor inner(const document* value) const;
    [[nodiscard]] object_cursor member(const document* value, std::string_view key) const;

    const document* value_;
    std::shared_ptr<const std::string> object_; ///< its place
    std::int32_t line_ = 0;                     ///< of the value, or of what it would be in; 0: not known
    value_path path_;
    std::vector<error>* problems_;
};

inline constexpr std::int64_t replicas_max = 1'000'000'000;

/// The group of an apiVersion; "v1" of what has none.
[[nodiscard]] inline std::string_view group_of(std::string_view api_version) {
    return api_version.substr(0, api_version.find('/'));
}

/// Pods of one template that an object makes.
struct pod_role {
    std::string name;
    object_cursor from; ///< the template
    std::int64_t replicas = 1;
};
struct workload_roles {
    std::vector<pod_role> roles{};
    std::int64_t min_available = 0; ///< manifest::min_available
};
/// Of an object with has_roles() that is no Volcano Job, in its order. A role that does not say how many pods it has
/// has as many as its framework gives it.
[[nodiscard]] workload_roles roles_of(const manifest& object, const object_cursor& spec);

/// The pod of a template, which has the object's names.
void read_template(const object_cursor& from, manifest& target);
/// Names, labels and annotations are the caller's. Also sets the host amounts and the fields of manifest from the
/// specification.
void read_pod_spec(const object_cursor& spec, manifest& target);
void read_node_status(const object_cursor& status, manifest& target);
/// Whether a pod says that it is not ready.
void read_readiness(const object_cursor& status, manifest& target);
/// Kind and name of the object that makes a pod, and of which there is one.
void read_controller(const object_cursor& metadata, manifest& target);
/// Of what makes pods: who made it, and whether a Job makes none any more, or none now.
void read_maker(const object_cursor& object, manifest& target);
/// Whether objects of such a kind may have queue_facts.
[[nodiscard]] bool is_queue_kind(std::string_view kind);
/// What an object of Kueue or Volcano says of queues; nothing of kinds of other groups but how many of a PodGroup start
/// together.
void read_queue_facts(const object_cursor& object, manifest& target);
[[nodiscard]] bool same_queue_facts(const manifest& left, const manifest& right);
/// What a quota allows is in its status as it is enforced, and before that in its spec.
void read_quota(const object_cursor& object, manifest& target);
void read_disruption_budget(const object_cursor& object, manifest& target);
void read_limit_range(const object_cursor& object, manifest& target);
inline constexpr std::int64_t priority_max = 2'147'483'647; // a field of 32 bits
void read_priority_class(const object_cursor& object, manifest& target);

/// A container with its amounts of extended resources, checked as the API server does (pkg/apis/core/validation):
/// amounts are of resources that there are, requests are not above limits, and those of extended resources are equal.
[[nodiscard]] kubernetes::container read_container(const object_cursor& from, bool at_init);
/// Names of containers, which the pod has once each.
void check_container_names(const object_cursor& spec);
/// A name as Kubernetes has it: a label of DNS (RFC 1123), or several of them joined by dots.
void check_label(const object_cursor& from, const std::string& name);
void check_subdomain(const object_cursor& from, const std::string& name);

/// A requirement on a label, without values that could not be read: they are problems.
[[nodiscard]] label_requirement requirement_from(const object_cursor& from);
/// A label selector (metav1.LabelSelector).
[[nodiscard]] label_selector selector_from(const object_cursor& from);
/// Required pod affinity and anti-affinity, and spread that is not only a wish; names of the wishes.
void read_peer_terms(const object_cursor& spec, manifest& target);
/// Node selector, required node affinity and tolerations of a pod's specification, as the API server accepts them, and
/// the names of what is not looked at.
void read_host_rules(const object_cursor& spec, manifest& target);
/// The tolerations that the DaemonSet controller adds to its pods.
void tolerate_as_daemons_do(const object_cursor& spec, manifest& target);
/// The list, without what of it could not be read: problems.
[[nodiscard]] std::vector<taint> taints_from(const object_cursor& list);
[[nodiscard]] std::vector<toleration> tolerations_from(const object_cursor& list);
/// Taints, cordon and the condition Ready of a Node; what of them cannot be read keeps all pods away.
void read_host_facts(const object_cursor& node, manifest& target);

} // namespace vgpualloc::kube
