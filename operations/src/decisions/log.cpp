// Reading decision logs.
#include "vgpuops/decisions/log.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuops::decisions {

using vgpuformats::cursor;

namespace {

constexpr std::array<std::string_view, 14> kind_names{
    "start",  "configure", "tell",   "remove_node", "remove_pod", "remove_config_map", "learn",
    "decide", "refuse",    "commit", "rollback",    "release",    "suspend",           "resume"};
constexpr std::array<std::string_view, 1> log_names{"vgpualloc-decisions"};
constexpr std::int64_t version_read = 1;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// Whether a line is the beginning of an object whose end is missing.
bool is_cut_off(std::string_view line) {
    if (!line.starts_with('{')) return false;
    std::size_t depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char letter = line[i];
        if (in_text) {
            if (letter == '\\') ++i;
            if (letter == '"') in_text = false;
        } else if (letter == '"') {
            in_text = true;
        } else if (letter == '{' || letter == '[') {
            ++depth;
        } else if (letter == '}' || letter == ']') {
            if (--depth == 0) return false;
        }
    }
    return true;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::optional<std::string> option_text(const cursor& options, std::string_view key) {
    if (!options.has(key)) return std::nullopt;
    std::string text = options.at(key).any_text();
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
}

vgpualloc::live_option_texts read_options(const cursor& line) {
    const cursor options = line.at("options");
    static_cast<void>(options.entries()); // an object, also where it says nothing
    return {.policy = option_text(options, "policy"),
            .device_policy = option_text(options, "device_policy"),
            .catalog = option_text(options, "catalog"),
            .device_config = option_text(options, "device_config"),
            .scheduler_config = option_text(options, "scheduler_config")};
}

void read_start(const cursor& line, log_event& to) {
    static_cast<void>(line.at("log").one_of(log_names));
    const cursor version = line.at("version");
    const std::int64_t number = version.integer({.least = 0, .most = largest});
    if (!version.failed() && number != version_read) {
        version.fail(error_code::unsupported, "version 1, the only one that is read here");
    }
    to.library = line.maybe_text("library");
    to.time = line.at("time").integer({.least = 0, .most = largest});
    to.options = read_options(line);
}

/// Whether the line says something of it; a null is no way to say nothing here.
bool is_said(const cursor& line, std::string_view key) { return line.value()->find(key) != nullptr; }

std::vector<std::string> read_names(const cursor& line, std::string_view key) {
    std::vector<std::string> names;
    if (!is_said(line, key)) return names;
    for (const cursor& name : line.at(key).items(0)) names.push_back(name.filled_text());
    std::ranges::sort(names);
    return names;
}

candidate_rule read_candidates(const cursor& line) {
    candidate_rule rule{.is_listed = is_said(line, "only"), .only = read_names(line, "only")};
    rule.except = read_names(line, "except");
    if (rule.is_listed && is_said(line, "except")) {
        line.fail_key(error_code::mismatch, "except", "either only or except, both are there");
    }
    return rule;
}

void read_decision(const cursor& line, log_event& to) {
    to.node = line.at("node").filled_text();
    to.time = line.at("time").integer({.least = 0, .most = largest});
    to.candidates = read_candidates(line);
    if (!is_said(line, "annotations")) return; // nothing is written on a pod without devices
    for (const auto& [key, value] : line.at("annotations").entries()) to.annotations.emplace(key, value.any_text());
}

void read_refusal(const cursor& line, log_event& to) {
    to.candidates = read_candidates(line);
    if (!is_said(line, "reasons")) return; // there are no nodes
    for (const auto& [reason, nodes] : line.at("reasons").entries()) {
        bool is_known = false;
        for (std::size_t code = 1; code < vgpualloc::rejection_code_count; ++code) {
            is_known = is_known || reason == to_string(static_cast<rejection_code>(code));
        }
        if (!is_known) nodes.fail(error_code::unknown_name, "a reason for which a node refuses");
        to.reasons.emplace(reason, nodes.integer({.least = 1, .most = largest}));
    }
}

/// An object as the core is told of it.
expected<std::vector<kube::manifest>> read_object(const document& line, const std::string& place) {
    auto objects = kube::read_manifests(vgpuformats::print_json(*line.find("object")), place);
    if (!objects) return objects;
    std::erase_if(*objects, [](const kube::manifest& object) {
        return !object.node && object.kind != "Pod" && object.kind != "ConfigMap";
    });
    return objects;
}

/// What the members of a line say; `failure` is set where they do not.
log_event read_members(const cursor& line) {
    log_event event;
    event.kind = static_cast<event_kind>(line.at("event").one_of(kind_names));
    if (line.failed()) return event;
    switch (event.kind) {
    case event_kind::start:
        read_start(line, event);
        break;
    case event_kind::configure:
        event.options = read_options(line);
        break;
    case event_kind::tell:
        static_cast<void>(line.at("object").entries());
        break;
    case event_kind::remove_node:
        event.name = line.at("node").filled_text();
        break;
    case event_kind::remove_config_map:
        event.name = line.at("name").filled_text();
        break;
    case event_kind::learn:
        break;
    default:
        event.uid = line.at("uid").filled_text();
        event.pod = line.maybe_text("pod");
        if (event.kind == event_kind::decide) read_decision(line, event);
        if (event.kind == event_kind::refuse) read_refusal(line, event);
    }
    return event;
}

} // namespace

std::string_view to_string(event_kind kind) noexcept { return kind_names[static_cast<std::size_t>(kind)]; }

bool candidate_rule::admits(const std::string& node) const {
    return is_listed ? std::ranges::binary_search(only, node) : !std::ranges::binary_search(except, node);
}

std::string_view log_reader::take_line() {
    ++line_;
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    return line;
}

bool log_reader::start_follows() const {
    const auto line = vgpuformats::parse_json(rest_.substr(0, rest_.find('\n')), name_);
    if (!line) return false;
    const document* const kind = line->find("event");
    return kind != nullptr && kind->is_text() && kind->text == to_string(event_kind::start);
}

expected<bool> log_reader::next() {
    while (!rest_.empty()) {
        const std::string_view text = take_line();
        if (is_blank(text) && is_blank(rest_)) break; // as an editor leaves it at the end
        const auto line =
            vgpuformats::parse_json(text, name_, vgpuformats::repeated_keys::refused, static_cast<std::int32_t>(line_));
        if (!line) {
            if (!is_cut_off(text) || (!rest_.empty() && !start_follows())) return unexpected(line.error());
            cut_off_.push_back(line_);
            continue;
        }
        std::optional<error> failure;
        const cursor at{*line, name_, failure, vgpuformats::place_style::line};
        event_ = read_members(at);
        if (!failure && !started_ && event_.kind != event_kind::start) {
            at.at("event").fail(error_code::missing, "a start, with which a log begins");
        }
        if (failure) return unexpected(*std::move(failure));
        event_.line = line_;
        event_.place = name_ + ":" + std::to_string(line_);
        started_ = true;
        if (event_.kind != event_kind::tell) return true;
        auto told = read_object(*line, event_.place);
        if (!told) return unexpected(std::move(told).error());
        event_.told = *std::move(told);
        return true;
    }
    if (started_) return false;
    return unexpected(
        bad_input(error_code::missing, "", "has no events", "a start, with which a log begins").at(name_));
}

} // namespace vgpuops::decisions
