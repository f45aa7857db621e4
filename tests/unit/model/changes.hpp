// A small world and everything that can happen to it, one change at a time: for tests of trials and of readers of the
// log, which try all of it in every order.
#pragma once

#include <vector>

#include "nodes.hpp"

namespace vgpualloc::test {

/// Three nodes: shared devices of two kinds, one whole device beside a shared one, none.
[[nodiscard]] inline cluster changing_cluster() {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n0", {"u0", "u1", "u2"}), node_with("n1", {"v0", "v1"}), node_with("n2", {})};
    owned.nodes[0].devices[2].kind = kind_b;
    owned.nodes[1].devices[0].kind = kind_whole;
    return owned;
}

/// The same with five pods, one of which is only reserved.
[[nodiscard]] inline ledger changing_ledger() {
    ledger book{changing_cluster()};
    EXPECT_TRUE(run_on(book, 1, node_index{0}, 0, 3000));
    EXPECT_TRUE(
        book.reserve(book_on(2, node_index{0}, {share_of_device(0, part(100)), share_of_device(2, part(200))})));
    EXPECT_TRUE(book.commit(pod_id{2}));
    EXPECT_TRUE(book.adopt(book_on(3, node_index{1}, {share_of_device(0, whole_device{})})));
    EXPECT_TRUE(book.reserve(book_on(4, node_index{1}, {share_of_device(1, part(4000))})));
    EXPECT_TRUE(book.adopt(book_on(5, node_index{2})));
    return book;
}

struct change_entry {
    const char* name;
    void (*apply)(ledger& book); ///< whether it can be done or not
};

/// n0 with these devices, or as it comes back with them.
inline void describe_n0(ledger& book, const std::vector<std::string>& uuids, std::uint32_t kind = kind_a) {
    if (!book.update_node(node_index{0}, node_with("n0", uuids, kind))) {
        static_cast<void>(book.add_node(node_with("n0", uuids, kind)));
    }
}

[[nodiscard]] inline const std::vector<change_entry>& all_changes() {
    static const std::vector<change_entry> changes{
        {"reserve",
         [](ledger& book) {
             static_cast<void>(book.reserve(book_on(10, node_index{0}, {share_of_device(1, part(700))})));
         }},
        {"run on n1", [](ledger& book) { static_cast<void>(run_on(book, 11, node_index{1}, 1)); }},
        {"run on n3", [](ledger& book) { static_cast<void>(run_on(book, 12, book.find_node("n3"), 0)); }},
        {"commit", [](ledger& book) { static_cast<void>(book.commit(pod_id{4})); }},
        {"rollback", [](ledger& book) { static_cast<void>(book.rollback(pod_id{4})); }},
        {"release from n0", [](ledger& book) { static_cast<void>(book.release(pod_id{1})); }},
        {"release two devices", [](ledger& book) { static_cast<void>(book.release(pod_id{2})); }},
        {"release the whole device", [](ledger& book) { static_cast<void>(book.release(pod_id{3})); }},
        {"release from n2", [](ledger& book) { static_cast<void>(book.release(pod_id{5})); }},
        {"book again with another generation",
         [](ledger& book) {
             static_cast<void>(book.adopt({.owner = pod_id{1, 1},
                                           .cpu = milli_cpu{1},
                                           .memory = bytes{1},
                                           .where = {.node = node_index{1}, .shares = {}}}));
         }},
        {"adopt over a whole device",
         [](ledger& book) {
             static_cast<void>(book.adopt(book_on(13, node_index{1}, {share_of_device(0, whole_device{})})));
         }},
        {"adopt over the host",
         [](ledger& book) { static_cast<void>(book.adopt(book_on(14, node_index{2}, {}, 40000))); }},
        {"other order of devices", [](ledger& book) { describe_n0(book, {"u2", "u0", "u1"}); }},
        {"a used device is not named", [](ledger& book) { describe_n0(book, {"u1", "u2"}); }},
        {"another mode", [](ledger& book) { describe_n0(book, {"u0", "u1", "u2"}, kind_whole); }},
        {"smaller devices", [](ledger& book) { describe_n0(book, {"u0", "u1"}, kind_small); }},
        {"less CPU",
         [](ledger& book) {
             node described = node_with("n0", {"u0", "u1", "u2"});
             described.cpu = milli_cpu{500};
             static_cast<void>(book.update_node(node_index{0}, described));
         }},
        {"remove n0", [](ledger& book) { static_cast<void>(book.remove_node(node_index{0})); }},
        {"remove n2", [](ledger& book) { static_cast<void>(book.remove_node(node_index{2})); }},
        {"remove n3", [](ledger& book) { static_cast<void>(book.remove_node(book.find_node("n3"))); }},
        {"n0 with other devices", [](ledger& book) { describe_n0(book, {"w0"}, kind_b); }},
        {"add n3", [](ledger& book) { static_cast<void>(book.add_node(node_with("n3", {"x0", "x1"}))); }},
        {"add n4", [](ledger& book) { static_cast<void>(book.add_node(node_with("n4", {"x0"}, kind_b))); }},
        {"a device fails",
         [](ledger& book) {
             static_cast<void>(book.set_service(node_index{0}, device_index{0}, service_state::failed));
         }},
        {"a device is repaired",
         [](ledger& book) {
             static_cast<void>(book.set_service(node_index{0}, device_index{0}, service_state::in_service));
         }},
        {"another zone",
         [](ledger& book) {
             node described = node_with("n2", {});
             described.host.labels = {{"zone", "b"}};
             static_cast<void>(book.update_node(node_index{2}, described));
         }},
        {"a taint",
         [](ledger& book) {
             node described = node_with("n2", {});
             described.host.taints = {{.key = "dedicated"}};
             static_cast<void>(book.update_node(node_index{2}, described));
         }},
        {"cordon", [](ledger& book) { static_cast<void>(book.set_schedulable(node_index{1}, false)); }},
    };
    return changes;
}

} // namespace vgpualloc::test
