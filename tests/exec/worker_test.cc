// The session's thread: order, exceptions, the number of operator threads.
#include "exec/worker.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace lowwater {
namespace {

TEST(Worker, RunsOnOneThreadOfItsOwn) {
  Worker worker(0);
  std::thread::id first, second;
  worker.run([&] { first = std::this_thread::get_id(); });
  worker.run([&] { second = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(Worker, CarriesExceptionsOverAndGoesOn) {
  Worker worker(0);
  EXPECT_THROW(worker.run([] { throw std::out_of_range("x"); }), std::out_of_range);
  int runs = 0;
  worker.run([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(Worker, CallsOfManyThreadsDoNotOverlap) {
  Worker worker(0);
  int inside = 0, most = 0, total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      worker.run([&] {
        most = std::max(most, ++inside);
        ++total;
        --inside;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(total, 16);
}

TEST(Worker, ItsThreadCountIsItsOwn) {
  const int before = at::get_num_threads();
  Worker worker(before + 1);
  int inside = 0, later = 0;
  worker.run([&] { inside = at::get_num_threads(); });
  std::thread([&] { later = at::get_num_threads(); }).join();
  EXPECT_EQ(inside, before + 1);
  EXPECT_EQ(at::get_num_threads(), before);
  EXPECT_EQ(later, before);
}

}  // namespace
}  // namespace lowwater
