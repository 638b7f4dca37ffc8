// A plan for computing a graph on a backend: kernels, threads, workspace, and the places of intermediates. It belongs to the
// graph's context (runtime/plan_cache.hpp) and outlives the graph: a later graph of the same structure reuses it.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/graph_structure.hpp"
#include "runtime/planned.hpp"

#include <string>
#include <vector>

namespace tensorlib::core {

class Plan {
public:
    // Needs the run locks of all contexts that the graph writes: it gives outputs their memory. Throws
    // Error(unsupported) for a node that no kernel takes, Error(invalid_argument) for a leaf without data,
    // Error(out_of_memory). The plan is the graph's.
    Plan(Graph &graph, Backend &backend);

    // The bytes that computing the graph would take on each part's device, in the order of the parts. Makes nothing, and
    // leafs need no data.
    static std::vector<std::size_t> estimate(const Graph &graph, Backend &backend);

    // The plan's graph, whose nodes and leafs the steps use; null after unbind().
    const Graph *graph() const noexcept { return graph_; }
    void unbind() noexcept { graph_ = nullptr; }
    // Whether the plan fits that graph on this plan's backend, so that only addresses differ, which bind() sets. bind()
    // needs and throws what the constructor does.
    bool fits(const Graph &graph) const noexcept { return structure_.is_of(graph); }
    std::uint64_t hash() const noexcept { return structure_.hash(); }
    void bind(Graph &graph);

    std::span<const Step> steps() const noexcept { return planned_.schedule.steps; }
    std::unique_ptr<Backend::Recording> &recording() noexcept { return recording_; }

    // The bytes that a run needs on each part's device, and their address, which must be set before each run.
    std::size_t n_blocks() const noexcept { return blocks_.size(); }
    std::size_t block_bytes(std::size_t part = 0) const noexcept { return planned_.memory[part].bytes; }
    void place(std::byte *block, std::size_t part = 0) noexcept;
    // Bytes on the host.
    std::size_t own_bytes() const noexcept;

    // For progress: the number of the graph's nodes that are done after step i. Views compute nothing and count with the
    // step before them.
    std::size_t nodes_done(std::size_t step) const noexcept { return planned_.schedule.done[step]; }

    // Words at the beginning of the blocks, in which kernels note elements that they cannot take. They must be clear when a
    // run begins, and check_faults() clears them.
    std::size_t n_faults() const noexcept { return planned_.schedule.checked.size(); }
    void clear_faults();

    // Called before a run: marks every node of the graph that owns data as not computed. Throws Error(invalid_argument) if
    // a leaf that the graph writes to has been promised constant.
    void begin_run();
    // Called after a run without error: marks the outputs as computed.
    void end_run() noexcept;

    // Called after a run whose steps are done: throws Error(invalid_argument) with node, element and value if a step met a
    // value that its operation cannot take.
    void check_faults();

    // One line per node, for people (runtime/plan_text.cpp).
    std::string text(Backend &backend) const;

    // Whether a new plan is due: since the plan became the graph's, a leaf was promised constant, which may allow a better
    // plan, or lost its original, whose address this plan holds; or the graph gained or lost the check of results.
    bool outdated() const noexcept { return leafs_as_of_ != changed_leafs() || !structure_.is_run_as(*graph_); }

private:
    std::string head_text(Backend &backend) const;
    std::string segments_text(Backend &backend) const;
    std::string refused_text(std::size_t node, Backend &backend) const;
    static void check_leafs(const Graph &graph);
    void attach(Graph &graph);
    void place_outputs();
    void find_owned();
    std::uint64_t placed_nodes() const noexcept;
    std::uint64_t changed_leafs() const noexcept;
    [[noreturn]] void fail_for(const Step &step, std::uint64_t fault) const;

    Graph *graph_ = nullptr;
    GraphStructure structure_;
    Planned planned_;
    std::vector<std::byte *> blocks_;                // of each part; null before place()
    std::unique_ptr<Backend::Recording> recording_;  // of the current addresses

    std::vector<Tensor *> owned_;    // nodes with their own data
    std::uint64_t owned_as_of_ = 0;  // placed_nodes() when owned_ was made
    std::uint64_t leafs_as_of_ = 0;  // changed_leafs() when the plan became the graph's
};

}  // namespace tensorlib::core
