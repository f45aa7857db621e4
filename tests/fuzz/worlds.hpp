// The random worlds of the property tests for programs of operations: a world by its number, operations by the bytes.
#pragma once

#include <cstdint>
#include <map>

#include "../property/support.hpp"
#include "fuzz.hpp"

namespace fuzzing {

/// The world of that number, always the same. The latest ones are kept: drawing costs more than most programs do.
inline const vgpualloc::property::world& world_of(std::uint32_t number, const vgpualloc::property::world_kind& kind) {
    static std::map<std::uint32_t, vgpualloc::property::world> worlds;
    constexpr std::size_t worlds_max = 512;
    if (const auto known = worlds.find(number); known != worlds.end()) return known->second;
    if (worlds.size() == worlds_max) worlds.clear();
    constexpr int size = 100;
    const auto drawn = vgpualloc::property::worlds(kind)(rc::Random{number}, size);
    return worlds.emplace(number, drawn.value()).first->second;
}

/// The next operation of an input: four bytes.
inline vgpualloc::property::operation next_operation(byte_reader& input) {
    vgpualloc::property::operation next;
    next.kind = input.byte();
    next.request = input.byte();
    next.salt = input.word(2);
    return next;
}

} // namespace fuzzing
