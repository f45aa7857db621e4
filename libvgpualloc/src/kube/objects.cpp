// Reading Kubernetes objects: which there are, and where their pods are.
#include "vgpualloc/kube/objects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include "objects_parts.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpualloc::kube {

namespace {

std::string shown(const document& value) {
    if (value.kind == value_kind::list) return "a list";
    if (value.kind == value_kind::map) return "an object";
    return value.kind == value_kind::null ? "null" : value.text;
}

/// In the place of an object that begins on the line of the one before it: JSON without line ends.
constexpr std::string_view numbered = ": object ";

/// A cursor at something that is there; its place ends in the line where that is known.
std::string place_at(const std::string& place, const document& value) {
    const auto colon = place.rfind(':');
    if (place.find(numbered) != std::string::npos || colon == std::string::npos) return place;
    return place.substr(0, colon + 1) + std::to_string(value.place.line);
}

} // namespace

object_cursor object_cursor::inner(const document* value, const std::string& path) const {
    object_cursor cursor{value, value == nullptr ? place_ : place_at(place_, *value), *problems_};
    cursor.path_ = path_.empty() || path.starts_with('[') ? path_ + path : path_ + "." + path;
    return cursor;
}

object_cursor object_cursor::at(std::string_view key) const {
    if (!present()) return inner(nullptr, std::string{key});
    if (value_->kind != value_kind::map) fail(error_code::malformed, shown(*value_), "an object");
    return inner(value_->find(key), std::string{key});
}

std::vector<object_cursor> object_cursor::items() const {
    std::vector<object_cursor> list;
    if (!present()) return list;
    if (value_->kind != value_kind::list) fail(error_code::malformed, shown(*value_), "a list");
    for (const document& item : value_->items) {
        list.push_back(inner(&item, "[" + std::to_string(list.size()) + "]"));
    }
    return list;
}

std::vector<std::pair<std::string, object_cursor>> object_cursor::entries() const {
    std::vector<std::pair<std::string, object_cursor>> list;
    if (!present()) return list;
    if (value_->kind != value_kind::map) fail(error_code::malformed, shown(*value_), "an object");
    for (const auto& [key, member] : value_->members) list.emplace_back(key, inner(&member, key));
    return list;
}

std::string object_cursor::text() const {
    if (!present()) return {};
    if (value_->kind == value_kind::text) return value_->text;
    const bool scalar_value = value_->kind == value_kind::number || value_->kind == value_kind::boolean;
    fail(error_code::malformed, shown(*value_), scalar_value ? "a text: write it in quotes" : "a text");
    return {};
}

std::string object_cursor::scalar() const {
    if (present() && value_->kind == value_kind::number) return value_->text;
    return text();
}

std::int64_t object_cursor::integer(std::int64_t least, std::int64_t most, std::int64_t otherwise) const {
    if (!present()) return otherwise;
    std::int64_t value = 0;
    const std::string& digits = value_->text;
    const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = failure == std::errc{} && stop == digits.data() + digits.size();
    if (value_->kind == value_kind::number && whole && value >= least && value <= most) return value;
    fail(value_->kind == value_kind::number && whole ? error_code::out_of_range : error_code::malformed, shown(*value_),
         "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return otherwise;
}

bool object_cursor::truth(bool otherwise) const {
    if (!present()) return otherwise;
    if (const auto value = value_->truth()) return *value;
    fail(error_code::malformed, shown(*value_), "true or false");
    return otherwise;
}

std::optional<std::int64_t> object_cursor::quantity(quantity_unit unit, rounding rest) const {
    if (!present()) return std::nullopt;
    if (value_->kind != value_kind::number && value_->kind != value_kind::text) {
        fail(error_code::malformed, shown(*value_), "a quantity");
        return std::nullopt;
    }
    const auto amount = kubernetes::parse_quantity(value_->text, unit, rest);
    if (amount) return *amount;
    fail(amount.error().code, amount.error().value, amount.error().expected);
    return std::nullopt;
}

kubernetes::text_map object_cursor::texts() const {
    kubernetes::text_map map;
    for (const auto& [key, member] : entries()) {
        std::string text = member.text();
        // What is no text is a problem already, and better absent than empty.
        if (!member.present() || member.value_->kind == value_kind::text) map[key] = std::move(text);
    }
    return map;
}

kubernetes::text_map object_cursor::scalars() const {
    kubernetes::text_map map;
    for (const auto& [key, member] : entries()) map[key] = member.scalar();
    return map;
}

void object_cursor::fail(error_code code, const std::string& value, const std::string& expected) const {
    constexpr std::size_t problems_max = 100; // of an object; and each is told once
    const auto is_known = [this](const error& known) { return known.where == place_ && known.field == path_; };
    if (problems_->size() >= problems_max || std::ranges::any_of(*problems_, is_known)) return;
    problems_->push_back({code, place_, path_, value, expected});
}

namespace {

constexpr std::int64_t replicas_max = 1'000'000'000;

/// A kind that makes pods, where its template is, and the field that says how many.
struct pod_maker {
    std::string_view kind;
    std::array<std::string_view, 3> path; ///< to what holds `template`, below spec
    std::string_view replicas;
};
constexpr std::array<pod_maker, 7> pod_makers{{{"Deployment", {}, "replicas"},
                                               {"ReplicaSet", {}, "replicas"},
                                               {"ReplicationController", {}, "replicas"},
                                               {"StatefulSet", {}, "replicas"},
                                               {"DaemonSet", {}, ""},
                                               {"Job", {}, "parallelism"},
                                               {"CronJob", {"jobTemplate", "spec"}, "parallelism"}}};

class manifest_reader {
public:
    explicit manifest_reader(const std::string& name) : name_{&name} {}

    void read(const document& object, const std::string& kind_in_list) {
        ++objects_;
        if (const auto* items = object.find("items"); items != nullptr && is_list(object)) {
            const std::string kind = object.find("kind")->text;
            line_ = object.place.line;
            for (const document& item : items->items) read(item, kind.substr(0, kind.size() - 4));
            return;
        }
        manifest result = headed(object, kind_in_list);
        const auto spec = cursor(object, result).at("spec");
        if (result.kind == "Pod") {
            read_pod(object, result);
        } else if (result.kind == "Node") {
            result.node.emplace();
            result.node->name = result.name;
            result.node->labels = cursor(object, result).at("metadata").at("labels").texts();
            result.node->annotations = cursor(object, result).at("metadata").at("annotations").texts();
            read_node_status(cursor(object, result).at("status"), result);
            read_host_facts(cursor(object, result), result);
        } else if (result.kind == "ConfigMap") {
            result.data = cursor(object, result).at("data").texts();
        } else if (result.kind == "Job" &&
                   cursor(object, result).at("apiVersion").scalar().starts_with("batch.volcano")) {
            read_tasks(object, result);
            return;
        } else if (const auto maker = std::ranges::find(pod_makers, result.kind, &pod_maker::kind);
                   maker != pod_makers.end()) {
            object_cursor holder = cursor(object, result).at("spec");
            for (const std::string_view step : maker->path) {
                if (!step.empty()) holder = holder.at(step);
            }
            if (!maker->replicas.empty()) result.replicas = holder.at(maker->replicas).integer(0, replicas_max, 1);
            read_template(holder.at("template"), result);
            if (result.kind == "DaemonSet") tolerate_as_daemons_do(holder.at("template").at("spec"), result);
        }
        manifests_.push_back(std::move(result));
    }
    [[nodiscard]] std::vector<manifest> take() { return std::move(manifests_); }

private:
    static bool is_list(const document& object) {
        const auto* kind = object.find("kind");
        return kind != nullptr && kind->text.ends_with("List") && object.find("items")->kind == value_kind::list;
    }

    object_cursor cursor(const document& object, manifest& target) const {
        return {&object, target.place, target.problems};
    }

    /// Kind, names and place.
    manifest headed(const document& object, const std::string& kind_in_list) {
        manifest result;
        const bool own_line = std::exchange(line_, object.place.line) != object.place.line;
        result.place = *name_ + (own_line ? ":" + std::to_string(object.place.line)
                                          : std::string{numbered} + std::to_string(objects_));
        const auto at = cursor(object, result);
        result.kind = at.at("kind").text();
        if (result.kind.empty()) result.kind = kind_in_list;
        if (result.kind.empty()) at.at("kind").fail(error_code::missing, "", "the object's kind");
        const auto metadata = at.at("metadata");
        result.name = metadata.at("name").text();
        if (result.name.empty()) result.name = metadata.at("generateName").text();
        if (result.name.empty()) metadata.at("name").fail(error_code::missing, "", "a name");
        result.ns = metadata.at("namespace").text();
        return result;
    }

    void read_pod(const document& object, manifest& target) const {
        target.pod.emplace();
        target.pod->name = target.name;
        target.pod->ns = target.ns;
        const auto metadata = cursor(object, target).at("metadata");
        target.pod->uid = metadata.at("uid").text();
        target.pod->labels = metadata.at("labels").texts();
        target.pod->annotations = metadata.at("annotations").texts();
        target.phase = cursor(object, target).at("status").at("phase").text();
        read_pod_spec(cursor(object, target).at("spec"), target);
    }

    static void read_template(const object_cursor& from, manifest& target) {
        target.pod.emplace();
        target.pod->name = target.name;
        target.pod->ns = target.ns;
        target.pod->labels = from.at("metadata").at("labels").texts();
        target.pod->annotations = from.at("metadata").at("annotations").texts();
        read_pod_spec(from.at("spec"), target);
    }

    /// A Volcano Job: a manifest for each of its tasks, whose pods have the job's scheduler unless they name one.
    void read_tasks(const document& object, manifest& job) {
        const auto tasks = cursor(object, job).at("spec").at("tasks");
        if (!tasks.present()) tasks.fail(error_code::missing, "", "a list of tasks");
        const std::string scheduler = cursor(object, job).at("spec").at("schedulerName").text();
        std::vector<manifest> tasks_read;
        auto own_problems = std::exchange(job.problems, {});
        for (const object_cursor& at : tasks.items()) {
            manifest task = job;
            const std::string name = at.at("name").text();
            task.name += "/" + (name.empty() ? std::to_string(tasks_read.size()) : name);
            task.replicas = at.at("replicas").integer(0, replicas_max, 1);
            read_template(at.at("template"), task);
            if (task.scheduler_name.empty()) task.scheduler_name = scheduler;
            task.problems = std::exchange(job.problems, {}); // where the cursor puts them
            tasks_read.push_back(std::move(task));
        }
        job.problems = std::move(own_problems);
        if (tasks_read.empty() || !job.problems.empty()) manifests_.push_back(std::move(job));
        std::ranges::move(tasks_read, std::back_inserter(manifests_));
    }

    const std::string* name_;
    std::size_t objects_ = 0;
    std::int32_t line_ = 0; ///< of the object before
    std::vector<manifest> manifests_;
};

} // namespace

bool manifest::says_the_same_as(const manifest& other) const {
    const auto facts = [](const manifest& object) {
        return std::tie(object.kind, object.name, object.ns, object.replicas, object.pod, object.node, object.data,
                        object.cpu, object.memory, object.host, object.rules, object.rules_ignored,
                        object.scheduler_name, object.node_name, object.phase);
    };
    const auto same_problem = [](const error& one, const error& another) {
        return std::tie(one.code, one.field, one.value) == std::tie(another.code, another.field, another.value);
    };
    return facts(*this) == facts(other) && std::ranges::equal(problems, other.problems, same_problem);
}

expected<std::vector<manifest>> read_manifests(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    manifest_reader reader{name};
    for (const document& object : *documents) {
        if (object.kind != value_kind::map) {
            const std::string place = name + ":" + std::to_string(object.place.line);
            return unexpected(error{error_code::malformed, place, "", shown(object), "a Kubernetes object"});
        }
        reader.read(object, {});
    }
    return reader.take();
}

expected<std::string> yaml_to_json_text(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    if (documents->size() == 1) return vgpuformats::print_json(documents->front());
    return unexpected(error{error_code::malformed, name, "", std::to_string(documents->size()) + " documents", "one"});
}

} // namespace vgpualloc::kube
