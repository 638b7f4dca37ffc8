// A plan: what computing a graph on a backend takes, decided once: kernels, threads, workspace, and where intermediates lie. It belongs
// to the graph's context (runtime/plan_cache.hpp) and outlives the graph: one that is built anew with the same structure takes it over.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/graph_structure.hpp"
#include "runtime/memory_planner.hpp"
#include "runtime/program.hpp"

#include <string>
#include <vector>

namespace tensorlib::core {

// A node that some values make impossible, and the step that computes it. The operands, a bit each, are kept to the end of a run, for the
// message that says which of their elements could not be taken.
struct CheckedNode {
    std::uint32_t node;
    std::uint32_t step;
    unsigned operands;
};

class Plan {
public:
    // Needs the run locks of all contexts that the graph writes: it gives outputs their memory. Throws
    // Error(unsupported) for a node that no kernel takes, Error(invalid_argument) for a leaf without data,
    // Error(out_of_memory). The plan is the graph's.
    Plan(Graph &graph, Backend &backend);

    // What computing it would take of each part's device, in the order of the parts, and nothing is made: leafs need no data.
    static std::vector<std::size_t> estimate(const Graph &graph, Backend &backend);

    // The graph whose plan this is, null after unbind(): its nodes and leafs are those that the steps name and address.
    const Graph *graph() const noexcept { return graph_; }
    void unbind() noexcept { graph_ = nullptr; }
    // Whether it can be the plan of that graph, on this plan's backend. Nothing but addresses differs then, which bind() puts in; needs and
    // throws what the constructor does.
    bool fits(const Graph &graph) const noexcept { return structure_.is_of(graph); }
    std::uint64_t hash() const noexcept { return structure_.hash(); }
    void bind(Graph &graph);

    std::span<const Step> steps() const noexcept { return steps_; }
    std::unique_ptr<Backend::Recording> &recording() noexcept { return recording_; }

    // Bytes that a run needs on the device of each part; and where they are, which is to be said before each run.
    std::size_t n_blocks() const noexcept { return blocks_.size(); }
    std::size_t block_bytes(std::size_t part = 0) const noexcept { return blocks_[part].bytes; }
    void place(std::byte *block, std::size_t part = 0) noexcept;
    // Bytes on the host.
    std::size_t own_bytes() const noexcept;

    // For progress: how many of the graph's nodes are done after step i. Views compute nothing and count with the step
    // before them.
    std::size_t nodes_done(std::size_t step) const noexcept { return done_[step]; }

    // Words at the blocks' beginnings where kernels note elements that they cannot take. They are to be clear when a run begins; after
    // check_faults() they are again.
    std::size_t n_faults() const noexcept { return checked_.size(); }
    void clear_faults();

    // To be called before a run: every node of the graph that owns data counts as not computed from now on. Throws
    // Error(invalid_argument) where a leaf that the graph writes to was promised constant meanwhile.
    void begin_run();
    // After a run without error: the outputs hold results.
    void end_run() noexcept;

    // After a run whose steps are done: throws Error(invalid_argument), naming node, element and value, where one met a
    // value that its operation cannot take.
    void check_faults();

    // A line per node, for people (runtime/plan_text.cpp).
    std::string text(Backend &backend) const;

    // Whether a leaf was promised constant since the plan became the graph's, so that another plan may do better, or has lost its original,
    // whose address this one has; or whether the graph wants each result looked at, or no longer.
    bool outdated() const noexcept { return leafs_as_of_ != changed_leafs() || !structure_.is_run_as(*graph_); }

private:
    friend class Planner;
    struct Estimate {};
    Plan(const Graph &graph, Backend &backend, Estimate);

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

    // What lies on a part's device while the plan runs, in this order: faults, intermediates and what is copied there, what is rebuilt, the
    // steps' workspace.
    struct Block {
        DeviceMemory *memory = nullptr;
        MemoryPlan intermediates;  // of nodes by their indices, then of what is copied there
        std::size_t n_faults = 0;
        std::size_t intermediates_offset = 0, rebuilt_offset = 0, workspace_offset = 0, workspace_bytes = 0;
        std::size_t copied_bytes = 0;  // in a run, for the plan's text
        std::size_t bytes = 0;
        std::byte *at = nullptr;
    };

    // An address in a step that is so many bytes behind the data of a root; or behind the beginning of a part's block.
    struct InGraph {
        std::byte **address;
        Graph::NodeIndex root;
        std::size_t offset;
    };
    struct InBlock {
        std::byte **address;
        std::size_t offset;
        std::size_t part;
    };
    // The indices of Step::node and Step::result in the graph.
    struct StepNodes {
        std::uint32_t computed, result;
    };

    // Of a node that a part's kernels do not take, for the text.
    struct Refused {
        std::uint32_t node, part;
    };
    // A constant whose bytes the backend keeps on another part's device.
    struct KeptConstant {
        Graph::NodeIndex root;
        std::uint32_t part;
    };

    Graph *graph_ = nullptr;
    std::vector<Block> blocks_;  // of each part
    GraphStructure structure_;

    std::vector<Step> steps_;
    std::vector<StepNodes> step_nodes_;
    std::vector<std::size_t> done_;
    std::vector<TensorRef> operands_, inputs_;     // of all steps
    std::vector<Instruction> instructions_;        // the same
    std::vector<Rebuilt> rebuilt_;                 // of all steps
    std::vector<Graph::NodeIndex> rebuilt_leafs_;  // the same ones' places
    std::vector<Copy> copies_;                     // of all steps
    std::vector<Graph::NodeIndex> copied_roots_;   // the same ones' places
    std::vector<std::uint32_t> parts_;             // of all nodes
    std::vector<Refused> refused_;
    std::vector<KeptConstant> kept_constants_;
    std::vector<InGraph> in_graph_;
    std::vector<InBlock> in_block_;
    Fusions fusions_;
    std::vector<CheckedNode> checked_;               // each has a word for its faults
    std::unique_ptr<Backend::Recording> recording_;  // of the addresses as they are

    std::vector<Tensor *> owned_;            // nodes with data of their own
    std::uint64_t owned_as_of_ = 0;          // placed_nodes() when owned_ was made
    std::uint64_t leafs_as_of_ = 0;          // changed_leafs() when the plan became the graph's
    std::vector<Graph::NodeIndex> targets_;  // leafs that are written to
};

}  // namespace tensorlib::core
