// What users see of the indexed decision path.
#include "vgpualloc/alloc/allocator.hpp"

#include "alloc/indexed_allocator.hpp"

namespace vgpualloc {

allocator::allocator(const ledger& book, policy_pair policies, allocator_options options)
    : index_{std::make_unique<indexed_allocator>(book, policies, options)} {}
allocator::~allocator() = default;

expected<request_id> allocator::intern(const pod_request& request) { return index_->intern(request); }
void allocator::note_arrival(request_id request) { index_->note_arrival(request); }
expected<placement, rejection> allocator::decide(request_id request) { return index_->decide(request); }
expected<placed_pod, rejection> allocator::place(ledger& book, pod_id pod, request_id request) {
    return index_->place(book, pod, request);
}
std::vector<node_answer> allocator::evaluate(request_id request) { return index_->evaluate(request); }
node_decision allocator::ask_node(node_index where, const pod_request& request) {
    return index_->ask_node(where, request);
}
expected<scored_placement, rejection_code> allocator::try_node(node_index where, request_id request) {
    return index_->try_node(where, request);
}
rejection_detail allocator::ask_peers(node_index where, const pod_request& request) {
    return index_->ask_peers(where, request);
}
std::map<std::string, std::int64_t> allocator::count_peers(const pod_request& request, std::size_t rule) {
    return index_->count_peers(request, rule);
}
expected<double, rejection_detail> allocator::score_placement(policy& scorer, const pod_request& request,
                                                              const placement& where) {
    return index_->score_placement(scorer, request, where);
}
expected<std::vector<score_part>, rejection_detail>
allocator::parts_of_placement(policy& scorer, const pod_request& request, const placement& where) {
    return index_->parts_of_placement(scorer, request, where);
}
void allocator::catch_up() { index_->catch_up(); }
node_view allocator::view_of(node_index where) { return index_->view_of(where); }
std::uint64_t allocator::id_generation() const noexcept { return index_->id_generation(); }
std::uint64_t allocator::next_event() const noexcept { return index_->next_event(); }
const pod_request* allocator::find_request(request_id request) noexcept { return index_->find_request(request); }
std::size_t allocator::config_count() const noexcept { return index_->config_count(); }
std::size_t allocator::index_bytes() const noexcept { return index_->index_bytes(); }
std::size_t allocator::request_count() const noexcept { return index_->request_count(); }

} // namespace vgpualloc
