// A plan: what computing a graph on a backend takes, decided once. Kernels, threads, workspace, and where
// intermediates lie. Addresses are stable, so a device may record the steps and replay them.
#pragma once

#include "graph/tensor_set.hpp"
#include "runtime/backend.hpp"
#include "runtime/epilogue.hpp"
#include "runtime/memory_planner.hpp"

#include <string>

namespace tensorlib::core {

// Memory of a context's, given back in the end.
class DataBlock {
public:
    DataBlock() = default;
    ~DataBlock() {
        if (begin_) context_->release_data(begin_, size_);
    }
    DataBlock(const DataBlock &) = delete;
    DataBlock &operator=(const DataBlock &) = delete;
    // Once. The context outlives this.
    void allocate(Context &context, std::size_t size) {
        begin_ = static_cast<std::byte *>(context.allocate_data(size));
        context_ = &context;
        size_ = size;
    }
    std::byte *begin() const noexcept { return begin_; }
    std::size_t size() const noexcept { return size_; }

private:
    Context *context_ = nullptr;
    std::byte *begin_ = nullptr;
    std::size_t size_ = 0;
};

class Plan final : public Graph::Attachment {
public:
    // Needs the run locks of all contexts that the graph writes: it gives outputs their memory. Throws
    // Error(unsupported) for a node that no kernel takes, Error(invalid_argument) for a leaf without data,
    // Error(out_of_memory).
    Plan(Graph &graph, Backend &backend);

    std::uint64_t backend_serial() const noexcept { return backend_serial_; }
    std::span<const Step> steps() const noexcept { return steps_; }
    std::unique_ptr<Backend::Recording> &recording() noexcept { return recording_; }

    // For progress: how many of the graph's nodes are done after step i. Views compute nothing and count with the step
    // before them.
    std::size_t nodes_done(std::size_t step) const noexcept { return done_[step]; }

    // To be called before a run: every node of the graph that owns data counts as not computed from now on. Throws
    // Error(invalid_argument) where a leaf that the graph writes to was promised constant meanwhile.
    void begin_run();
    // After a run without error: the outputs hold results.
    void end_run() noexcept;

    // After a run whose steps are done: throws Error(invalid_argument), naming node, element and value, where one met a
    // value that its operation cannot take.
    void check_faults();

    // A line per node, for people.
    std::string text(Backend &backend) const;

    // Whether a leaf was promised constant since the plan was made, so that another plan may do better, or has lost its original, whose
    // address this one has.
    bool outdated() const noexcept { return leafs_as_of_ != changed_leafs(); }

private:
    std::vector<Choice> choose_kernels(Backend &backend) const;
    void find_fusions(const std::vector<Choice> &choices);
    void make_steps(const std::vector<Choice> &choices);
    void place_outputs();
    void place_intermediates();
    void resolve_addresses();
    void find_owned();
    std::uint64_t placed_nodes() const noexcept;
    std::uint64_t changed_leafs() const noexcept;
    void clear_faults();
    [[noreturn]] void fail_for(const Step &step, std::uint64_t fault) const;
    std::byte *address_of(const Tensor &t, const Step &step) const;
    TensorRef ref_of(const Tensor &t, const Step &step) const;
    void place_rebuilt(Step &step);

    Graph &graph_;
    const std::uint64_t backend_serial_;
    std::vector<Step> steps_;
    std::vector<std::size_t> done_;
    TensorSet index_;  // node -> its index in the graph
    Fusions fusions_;
    MemoryPlan memory_;
    std::vector<CheckedNode> checked_;  // nodes that some values make impossible: a word each for their faults
    std::size_t faults_offset_ = 0, rebuilt_offset_ = 0, workspace_offset_ = 0;
    bool faults_are_clear_ = true;  // no word holds what an earlier run has noted
    DataBlock block_;
    std::unique_ptr<Backend::Recording> recording_;  // goes before the memory that it writes to
    std::vector<Rebuilt> rebuilt_;                   // of all steps
    std::vector<TensorRef> operands_;                // of all steps

    std::vector<Tensor *> owned_;          // nodes with data of their own
    std::uint64_t owned_as_of_ = 0;        // placed_nodes() when owned_ was made
    std::uint64_t leafs_as_of_ = 0;        // changed_leafs() when the plan was made
    std::vector<const Tensor *> targets_;  // leafs that are written to
};

}  // namespace tensorlib::core
