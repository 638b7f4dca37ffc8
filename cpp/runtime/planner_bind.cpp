// Where each step finds its operands: the last stage of planning.
#include "runtime/planner.hpp"

#include "base/checked.hpp"

namespace tensorlib::core {

namespace {

class BindStage {
public:
    BindStage(const Planning &planning, const Placed &placed, Fused &fused, Scheduled &scheduled, const MemoryLayout &memory)
        : planning_(planning),
          placed_(placed),
          fused_(fused),
          steps_(scheduled.schedule.steps),
          transfers_(scheduled.transfers),
          memory_(memory) {}

    StepOperands bind() {
        reserve();
        add_rebuilt();
        for (std::size_t k = 0; k < steps_.size(); k++) {
            Step &step = steps_[k];
            if (placed_.crosses()) add_copies(k);
            step.dst = without_address(*step.result);
            find_address(*step.result, 0, k, step.dst.data);
            const StepPrograms &programs = fused_.programs[planning_.index_of(*step.result)];
            find_inputs(programs.prologue, nullptr, k);
            find_inputs(programs.program, programs.producer, k);
            add_sources(k);
            made_.in_blocks.push_back({&step.workspace, memory_.parts[step.part].workspace_offset, step.part});
        }
        return std::move(made_);
    }

private:
    static std::size_t n_sources(const Step &step) noexcept { return has_formula(*step.node) ? 0 : step.node->n_src; }

    // Steps and addresses point into the lists, which must not move.
    void reserve() {
        std::size_t n = 0, n_copies = 0;
        for (const Step &step : steps_) n += n_sources(step);
        for (const StepTransfers &of_step : transfers_.of_steps)
            n_copies += of_step.before.size() + of_step.back.size() + of_step.after.size();
        made_.sources.reserve(n);
        made_.copies.reserve(n_copies), made_.copied_roots.reserve(n_copies);
    }

    void add_rebuilt() {
        std::vector<std::size_t> first;
        first.reserve(steps_.size() + 1);
        for (const Step &step : steps_) {
            first.push_back(made_.rebuilt.size());
            for (const Tensor *root : dropped_roots(planning_, placed_, fused_, step)) {
                made_.rebuilt.push_back({root, nullptr});
                made_.rebuilt_roots.push_back(planning_.index_of(*root));
            }
        }
        first.push_back(made_.rebuilt.size());
        for (std::size_t k = 0; k < steps_.size(); k++) {
            Step &step = steps_[k];
            const PartMemory &memory = memory_.parts[step.part];
            std::size_t offset = memory.rebuilt_offset;
            for (std::size_t r = first[k]; r < first[k + 1]; r++) {
                made_.in_blocks.push_back({&made_.rebuilt[r].to, offset, step.part});
                offset += round_up(made_.rebuilt[r].root->layout.nbytes(), memory.memory->alignment());
            }
            step.rebuilt = std::span(made_.rebuilt).subspan(first[k], first[k + 1] - first[k]);
        }
    }

    void add_sources(std::size_t k) {
        Step &step = steps_[k];
        const std::size_t first = made_.sources.size();
        for (std::size_t s = 0; s < n_sources(step); s++) {
            const Tensor *source = planning_.sources_of(step)[s];
            const bool is_made = s == 0 && !step.prologue.empty();
            made_.sources.push_back(source ? without_address(*source) : TensorRef{});
            if (source && !is_made) find_address(*source, 0, k, made_.sources.back().data);
        }
        step.src = std::span(made_.sources).subspan(first);
    }

    void find_inputs(const FusedProgram &made, const Tensor *producer, std::size_t k) {
        for (std::size_t i = 0; i < made.program.inputs.size(); i++) {
            const ProgramPlan::Input &input = made.program.inputs[i];
            // The producer writes where the result is.
            const Tensor &tensor = input.tensor == producer ? *steps_[k].result : *input.tensor;
            TensorRef &ref = fused_.inputs[made.first_input + i];
            find_address(tensor, static_cast<std::size_t>(input.first) * ref.nb[0], k, ref.data);
        }
    }

    // Finds the address, while step k runs, of the byte at this offset from the tensor's first element.
    void find_address(const Tensor &t, std::size_t offset, std::size_t k, std::byte *&address) {
        const Step &step = steps_[k];
        const PartMemory &memory = memory_.parts[step.part];
        offset += t.root_offset;
        for (std::size_t rebuilt = memory.rebuilt_offset; const Rebuilt &r : step.rebuilt) {
            if (r.root == t.root) {
                made_.in_blocks.push_back({&address, rebuilt + offset, step.part});
                return;
            }
            rebuilt += round_up(r.root->layout.nbytes(), memory.memory->alignment());
        }
        if (placed_.home(planning_, *t.root) == step.part) {
            find_in_root(*t.root, step.part, offset, address);
        } else {
            find_in_replica(*t.root, k, offset, address);
        }
    }

    // Finds a root's byte on the part where the root lies or is computed: in the part's block, or in the root's own data.
    void find_in_root(const Tensor &root, std::size_t part, std::size_t offset, std::byte *&address) {
        const Graph::NodeIndex index = planning_.index_of(root);
        const PartMemory &memory = memory_.parts[part];
        if (!(index & Graph::leaf_bit) && memory.intermediates.offset[index] != MemoryPlan::nowhere) {
            made_.in_blocks.push_back({&address, memory.intermediates_offset + memory.intermediates.offset[index] + offset, part});
        } else {
            made_.in_roots.push_back({&address, index, offset});
        }
    }

    void find_in_replica(const Tensor &root, std::size_t k, std::size_t offset, std::byte *&address) {
        const Replica &replica = transfers_.replica_for(k, planning_.index_of(root));
        if (replica.where == Replica::kept) {
            // The step only reads it, although an operand's address is not const.
            const std::byte *constant = planning_.backend.constant_on(steps_[k].part, root);
            address = constant ? const_cast<std::byte *>(constant) + offset : nullptr;
        } else {
            find_in_replica(replica, offset, address);
        }
    }
    void find_in_replica(const Replica &replica, std::size_t offset, std::byte *&address) {
        if (replica.where == Replica::in_output) {
            made_.in_roots.push_back({&address, replica.root, offset});
            return;
        }
        const MemoryPlan &intermediates = memory_.parts[replica.part].intermediates;
        const std::size_t buffer = intermediates.offset[planning_.graph.nodes().size() + replica.buffer];
        const std::size_t in_block = memory_.parts[replica.part].intermediates_offset + buffer;
        made_.in_blocks.push_back({&address, in_block + offset - transfers_.buffers[replica.buffer].begin, replica.part});
    }

    void add_copies(std::size_t k) {
        const StepTransfers &of_step = transfers_.of_steps[k];
        const std::size_t before = made_.copies.size();
        for (const std::uint32_t r : of_step.before) {
            const std::uint32_t b = transfers_.replicas[r].buffer;
            add_copy(r, transfers_.buffers[b].begin, transfers_.buffers[b].end, false, memory_.waits[b]);
        }
        const std::size_t after = made_.copies.size();
        // Steps on the root's own part may still read the bytes that are overwritten.
        for (const WrittenBack &back : of_step.back) add_copy(back.replica, back.begin, back.end, true, true);
        for (const std::uint32_t r : of_step.after) {
            add_copy(r, 0, planning_.graph.at(transfers_.replicas[r].root)->layout.nbytes(), false, false);
        }
        steps_[k].before = std::span(made_.copies).subspan(before, after - before);
        steps_[k].after = std::span(made_.copies).subspan(after);
    }

    // Copies bytes begin to end of the replica's root, to the replica or back.
    void add_copy(std::uint32_t r, std::size_t begin, std::size_t end, bool back, bool waits) {
        const Replica &replica = transfers_.replicas[r];
        const Tensor &root = *planning_.graph.at(replica.root);
        const std::uint32_t home = placed_.home(planning_, root);
        const std::uint32_t from = back ? replica.part : home, to = back ? home : replica.part;
        made_.copies.push_back({&root, from, to, nullptr, nullptr, end - begin, waits});
        made_.copied_roots.push_back(replica.root);
        Copy &copy = made_.copies.back();
        find_in_root(root, home, begin, back ? copy.target : copy.source);
        find_in_replica(replica, begin, back ? copy.source : copy.target);
    }

    const Planning &planning_;
    const Placed &placed_;
    Fused &fused_;
    std::vector<Step> &steps_;
    const Transfers &transfers_;
    const MemoryLayout &memory_;
    StepOperands made_;
};

}  // namespace

Planned bind(const Planning &planning, Placed placed, Fused fused, Scheduled scheduled, MemoryLayout memory) {
    Planned made;
    made.operands = BindStage(planning, placed, fused, scheduled, memory).bind();
    made.parts = std::move(placed.placement.part);
    made.refused = std::move(placed.refused);
    made.fusions = std::move(fused.fusions);
    made.instructions = std::move(fused.instructions);
    made.inputs = std::move(fused.inputs);
    made.schedule = std::move(scheduled.schedule);
    made.kept_constants = std::move(scheduled.transfers.kept_constants);
    made.memory = std::move(memory.parts);
    return made;
}

}  // namespace tensorlib::core
