// Reading Kubernetes objects: which there are, and where their pods are.
#include "vgpualloc/kube/objects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

#include "objects_parts.hpp"

namespace vgpualloc::kube {

namespace {

std::string shown(const document_value& value) {
    if (value.kind == value_kind::list) return "a list";
    if (value.kind == value_kind::map) return "an object";
    return value.kind == value_kind::null ? "null" : value.text;
}

/// A cursor at something that is there; its place ends in the line where that is known.
std::string place_at(const std::string& place, const document_value& value) {
    const auto colon = place.rfind(':');
    if (value.line == 0 || colon == std::string::npos) return place;
    return place.substr(0, colon + 1) + std::to_string(value.line);
}

} // namespace

object_cursor object_cursor::inner(const document_value* value, const std::string& path) const {
    object_cursor made{value, value == nullptr ? place_ : place_at(place_, *value), *problems_};
    made.path_ = path_.empty() || path.starts_with('[') ? path_ + path : path_ + "." + path;
    return made;
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
    for (const document_value& each : value_->items) {
        list.push_back(inner(&each, "[" + std::to_string(list.size()) + "]"));
    }
    return list;
}

std::vector<std::pair<std::string, object_cursor>> object_cursor::entries() const {
    std::vector<std::pair<std::string, object_cursor>> list;
    if (!present()) return list;
    if (value_->kind != value_kind::map) fail(error_code::malformed, shown(*value_), "an object");
    for (const auto& [key, each] : value_->members) list.emplace_back(key, inner(&each, key));
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
    for (const auto& [key, each] : entries()) {
        std::string text = each.text();
        // What is no text is a problem already, and better absent than empty.
        if (!each.present() || each.value_->kind == value_kind::text) map[key] = std::move(text);
    }
    return map;
}

kubernetes::text_map object_cursor::scalars() const {
    kubernetes::text_map map;
    for (const auto& [key, each] : entries()) map[key] = each.scalar();
    return map;
}

void object_cursor::fail(error_code code, const std::string& value, const std::string& expected) const {
    constexpr std::size_t problems_max = 100; // of an object; and each is told once
    const auto told = [this](const error& each) { return each.where == place_ && each.field == path_; };
    if (problems_->size() >= problems_max || std::ranges::any_of(*problems_, told)) return;
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

    void read(const document_value& object, const std::string& kind_in_list) {
        ++objects_;
        if (const auto* items = object.find("items"); items != nullptr && is_list(object)) {
            const std::string kind = object.find("kind")->text;
            for (const document_value& each : items->items) read(each, kind.substr(0, kind.size() - 4));
            return;
        }
        manifest made = headed(object, kind_in_list);
        const auto spec = cursor(object, made).at("spec");
        if (made.kind == "Pod") {
            read_pod(object, made);
        } else if (made.kind == "Node") {
            made.node.emplace();
            made.node->name = made.name;
            made.node->labels = cursor(object, made).at("metadata").at("labels").texts();
            made.node->annotations = cursor(object, made).at("metadata").at("annotations").texts();
            read_node_status(cursor(object, made).at("status"), made);
        } else if (made.kind == "ConfigMap") {
            made.data = cursor(object, made).at("data").texts();
        } else if (made.kind == "Job" && cursor(object, made).at("apiVersion").scalar().starts_with("batch.volcano")) {
            read_tasks(object, made);
            return;
        } else if (const auto maker = std::ranges::find(pod_makers, made.kind, &pod_maker::kind);
                   maker != pod_makers.end()) {
            object_cursor holder = cursor(object, made).at("spec");
            for (const std::string_view step : maker->path) {
                if (!step.empty()) holder = holder.at(step);
            }
            if (!maker->replicas.empty()) made.replicas = holder.at(maker->replicas).integer(0, replicas_max, 1);
            read_template(holder.at("template"), made);
        }
        made_.push_back(std::move(made));
    }
    [[nodiscard]] std::vector<manifest> take() { return std::move(made_); }

private:
    static bool is_list(const document_value& object) {
        const auto* kind = object.find("kind");
        return kind != nullptr && kind->text.ends_with("List") && object.find("items")->kind == value_kind::list;
    }

    object_cursor cursor(const document_value& object, manifest& made) const {
        return {&object, made.place, made.problems};
    }

    /// Kind, names and place.
    manifest headed(const document_value& object, const std::string& kind_in_list) {
        manifest made;
        made.place = object.line > 0 ? *name_ + ":" + std::to_string(object.line)
                                     : *name_ + ": object " + std::to_string(objects_);
        const auto at = cursor(object, made);
        made.kind = at.at("kind").text();
        if (made.kind.empty()) made.kind = kind_in_list;
        if (made.kind.empty()) at.at("kind").fail(error_code::missing, "", "the object's kind");
        const auto metadata = at.at("metadata");
        made.name = metadata.at("name").text();
        if (made.name.empty()) made.name = metadata.at("generateName").text();
        if (made.name.empty()) metadata.at("name").fail(error_code::missing, "", "a name");
        made.ns = metadata.at("namespace").text();
        return made;
    }

    void read_pod(const document_value& object, manifest& made) const {
        made.pod.emplace();
        made.pod->name = made.name;
        made.pod->ns = made.ns;
        const auto metadata = cursor(object, made).at("metadata");
        made.pod->uid = metadata.at("uid").text();
        made.pod->labels = metadata.at("labels").texts();
        made.pod->annotations = metadata.at("annotations").texts();
        made.phase = cursor(object, made).at("status").at("phase").text();
        read_pod_spec(cursor(object, made).at("spec"), made);
    }

    static void read_template(const object_cursor& from, manifest& made) {
        made.pod.emplace();
        made.pod->name = made.name;
        made.pod->ns = made.ns;
        made.pod->labels = from.at("metadata").at("labels").texts();
        made.pod->annotations = from.at("metadata").at("annotations").texts();
        read_pod_spec(from.at("spec"), made);
    }

    /// A Volcano Job: a manifest for each of its tasks, whose pods have the job's scheduler unless they name one.
    void read_tasks(const document_value& object, manifest& job) {
        const auto tasks = cursor(object, job).at("spec").at("tasks");
        if (!tasks.present()) tasks.fail(error_code::missing, "", "a list of tasks");
        const std::string scheduler = cursor(object, job).at("spec").at("schedulerName").text();
        std::vector<manifest> made;
        auto own_problems = std::exchange(job.problems, {});
        for (const object_cursor& at : tasks.items()) {
            manifest task = job;
            const std::string name = at.at("name").text();
            task.name += "/" + (name.empty() ? std::to_string(made.size()) : name);
            task.replicas = at.at("replicas").integer(0, replicas_max, 1);
            read_template(at.at("template"), task);
            if (task.scheduler_name.empty()) task.scheduler_name = scheduler;
            task.problems = std::exchange(job.problems, {}); // where the cursor puts them
            made.push_back(std::move(task));
        }
        job.problems = std::move(own_problems);
        if (made.empty() || !job.problems.empty()) made_.push_back(std::move(job));
        std::ranges::move(made, std::back_inserter(made_));
    }

    const std::string* name_;
    std::size_t objects_ = 0;
    std::vector<manifest> made_;
};

} // namespace

expected<std::vector<manifest>> read_manifests(std::string_view text, const std::string& name) {
    const auto documents = vgputraces::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    manifest_reader reader{name};
    for (const document_value& each : *documents) {
        if (each.kind != value_kind::map) {
            const std::string place = each.line > 0 ? name + ":" + std::to_string(each.line) : name;
            return unexpected(error{error_code::malformed, place, "", shown(each), "a Kubernetes object"});
        }
        reader.read(each, {});
    }
    return reader.take();
}

expected<std::string> yaml_to_json_text(std::string_view text, const std::string& name) {
    const auto documents = vgputraces::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    if (documents->size() == 1) return vgputraces::to_json_text(documents->front());
    return unexpected(error{error_code::malformed, name, "", std::to_string(documents->size()) + " documents", "one"});
}

} // namespace vgpualloc::kube
