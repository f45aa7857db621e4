#include "vgpusim/workload/queues.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "vgpuformats/cursor.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpusim {

using vgpuformats::cursor;

namespace {

constexpr vgpuformats::number_range quota_range{0, 1'000'000'000'000'000};

struct quota_key {
    const char* key;
    std::optional<std::int64_t> device_quota::* amount;
};
constexpr std::array quota_keys{quota_key{.key = "devices", .amount = &device_quota::devices},
                                quota_key{.key = "memory_mib", .amount = &device_quota::memory_mib},
                                quota_key{.key = "cores_percent", .amount = &device_quota::cores_percent}};

device_quota read_quota(const cursor& queue, const char* key) {
    device_quota quota;
    if (!queue.has(key)) return quota;
    const cursor map = queue.at(key);
    map.only({"devices", "memory_mib", "cores_percent"});
    for (const auto& [name, amount] : quota_keys) quota.*amount = map.maybe_integer(name, quota_range);
    return quota;
}

job_queue read_queue(const cursor& from, std::set<std::string>& names) {
    from.only({"name", "guaranteed", "limit"});
    job_queue queue{.name = from.at("name").filled_text(),
                    .guaranteed = read_quota(from, "guaranteed"),
                    .limit = read_quota(from, "limit")};
    if (queue.name.find_first_of(",\"") != std::string::npos) {
        from.at("name").fail(error_code::malformed, "a name without commas and quotes");
    }
    if (!names.insert(queue.name).second) from.at("name").fail(error_code::duplicate, "every queue once");
    for (const auto& [key, amount] : quota_keys) {
        const auto& limit = queue.limit.*amount;
        const auto& guaranteed = queue.guaranteed.*amount;
        if (!limit || !guaranteed || *limit >= *guaranteed) continue;
        from.at("limit").at(key).fail(error_code::out_of_range,
                                      "no less than the " + std::to_string(*guaranteed) + " that are guaranteed");
    }
    return queue;
}

} // namespace

expected<std::vector<job_queue>> read_queues(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(text, name);
    if (!documents) return unexpected(documents.error());
    if (documents->size() != 1) {
        return unexpected(
            bad_value(error_code::malformed, "", std::to_string(documents->size()) + " documents", "one list of queues")
                .at(name));
    }
    std::optional<error> failure;
    std::vector<job_queue> queues;
    std::set<std::string> names;
    for (const cursor& from : cursor{documents->front(), name, failure, vgpuformats::place_style::line}.items(1)) {
        queues.push_back(read_queue(from, names));
    }
    if (failure) return unexpected(*std::move(failure));
    return queues;
}

} // namespace vgpusim
