// The model of memory: which buffers live where, which bytes are written, who
// may touch them when; private to verify*.cc.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "plan/verify_bytes.h"
#include "plan/verify_clock.h"
#include "plan/verify_report.h"

namespace lowwater {

class Memory {
 public:
  enum class Life : std::uint8_t { never, live, released, taken };

  Memory(const Program& program, Report& report);

  // The steps of `once` are over, a run begins: the arena is empty again, the
  // caller's inputs are there.
  void begin_run();

  // The buffer comes to life. `heir`: a launch may hand it the address of
  // buffer.shares; then that one's life ends here.
  void grant(BufferId id, const Moment& moment, bool heir);
  void release(BufferId id);
  // Bytes of a slot, relative to its buffer, in the present iteration of loops.
  void read(BufferId id, const TensorMeta& meta, const Moment& moment);
  // Like read, but after the run, when every stream has ended.
  void check(BufferId id, const TensorMeta& meta);
  // `over`: content from before may be overwritten (a mutated weight or input).
  void write(BufferId id, const TensorMeta& meta, const Moment& moment, bool over);

  [[nodiscard]] Life life(BufferId id) const { return life_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Bytes highest_end() const { return highest_end_; }
  Clocks& clocks() { return clocks_; }

 private:
  [[nodiscard]] const Buffer& buffer(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool in_arena(BufferId id) const { return buffer(id).space == Space::arena; }
  // The bytes' history: one map for the arena, one for each other buffer.
  ByteMap& bytes(BufferId id) { return in_arena(id) ? arena_ : others_[id]; }
  [[nodiscard]] Bytes base(BufferId id) const { return in_arena(id) ? buffer(id).offset : 0; }

  void give(BufferId id);
  bool check_extent(BufferId id, const TensorMeta& meta);
  bool check_alive(BufferId id);
  void check_written(BufferId id, const TensorMeta& meta);
  void place_in_arena(BufferId id);
  void report_race(BufferId id, const std::optional<Moment>& other, const Moment& moment);

  const Program& program_;
  Report& report_;
  Clocks clocks_;
  std::vector<Life> life_;          // by BufferId
  std::vector<BufferId> taken_by_;  // by BufferId
  ByteMap arena_;
  std::unordered_map<BufferId, ByteMap> others_;
  std::map<Bytes, BufferId> living_;  // in the arena, by address: they never overlap
  Bytes highest_end_ = 0;             // of the arena, in this timeline
};

}  // namespace lowwater
