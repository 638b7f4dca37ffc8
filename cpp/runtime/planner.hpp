// Makes plans: what is decided once, step after step.
#pragma once

#include "graph/tensor_set.hpp"
#include "runtime/plan.hpp"

namespace tensorlib::core {

class Planner {
public:
    // Fills in all of the plan but what Plan::attach() does.
    Planner(Plan &plan, const Graph &graph, Backend &backend);

private:
    struct Part {
        ProgramPlan program;
        Program spans;
        std::size_t first_input = 0;  // among the plan's
    };

    // Whether nodes become one program, and results lie on operands that end there.
    struct Sharing {
        bool fuses, overlays;
    };

    std::vector<Choice> choose_kernels(Backend &backend) const;
    void lay_out(Backend &backend, std::vector<Choice> choices, const Sharing &way);
    void make_programs(Backend &backend, std::vector<Choice> &choices);
    void place_program(Part &part);
    void make_steps(const std::vector<Choice> &choices);
    void place_intermediates(bool overlays);
    void find_addresses();
    std::vector<const Tensor *> dropped_roots(const Step &step) const;
    std::span<Tensor *const> sources_of(const Step &step) const { return graph_.sources(*places_.find(step.node)); }
    TensorRef ref_of(const Tensor &t) const noexcept { return {t.layout.type, t.layout.ne, t.layout.nb, nullptr}; }
    void find_inputs(const Part &part, const Tensor *producer, const Step &step);
    void find_address(const Tensor &t, std::size_t behind, const Step &step, std::byte *&address);

    Plan &plan_;
    const Graph &graph_;
    TensorSet places_;  // of nodes and leafs
    // By the index of the node that gives the result. The producer that the program is an epilogue of, or null.
    struct Joined {
        Part program, head;
        const Tensor *producer = nullptr;
    };
    std::vector<Joined> programs_;
    std::size_t rebuilt_offset_ = 0, workspace_offset_ = 0;
};

}  // namespace tensorlib::core
