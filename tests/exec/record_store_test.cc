#include "exec/record_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lowwater {
namespace {

namespace fs = std::filesystem;

// A folder that goes when the test ends.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "lowwater-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    fs::permissions(path_, fs::perms::owner_all);
    fs::remove_all(path_);
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_;
};

StepRecord sample(Bytes size) {
  StepRecord record;
  record.events = {{true, 0, size}, {true, 1, 64}, {false, 1, 0}};
  record.outputs = {{OutputHome::fresh, 0, {DType::bf16, {2, 3}, {3, 1}, 0, size}},
                    {OutputHome::alias, 1, {DType::f32, {4}, {2}, 5, 100}},
                    {OutputHome::scalar, 0, {}},
                    {OutputHome::absent, 0, {}}};
  record.ms = 0.1234567890123;
  return record;
}

void expect_equal(const StepRecord& a, const StepRecord& b) {
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.ms, b.ms);
  EXPECT_EQ(a.basis, b.basis);
  EXPECT_EQ(a.infeasible, b.infeasible);
  EXPECT_EQ(a.upper_bound, b.upper_bound);
}

TEST(RecordJson, RoundTrip) {
  StepRecord record = sample(12);
  const auto back = record_from_json(record_to_json(record));
  ASSERT_TRUE(back.has_value());
  expect_equal(*back, record);
  record.basis = Basis::estimated;
  record.infeasible = true;
  record.upper_bound = Bytes{1} << 40;
  const auto bounded = record_from_json(record_to_json(record));
  ASSERT_TRUE(bounded.has_value());
  expect_equal(*bounded, record);
}

TEST(RecordJson, RefusesWhatItCannotMean) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"ev":[],"out":[]})", R"({"ev":[[1]],"out":[],"ms":1})",
        R"({"ev":[],"out":[{"h":9,"s":0,"m":{"t":"f32","n":[],"s":[],"o":0,"b":0}}],"ms":1})",
        R"({"ev":[],"out":[{"h":0,"s":0,"m":{"t":"f99","n":[],"s":[],"o":0,"b":0}}],"ms":1})",
        R"({"ev":[],"out":[{"h":0,"s":0,"m":{"t":"f32","n":[1],"s":[],"o":0,"b":0}}],"ms":1})"}) {
    EXPECT_FALSE(record_from_json(text).has_value()) << text;
  }
}

TEST(RecordStore, KeepsRecordsBetweenProcesses) {
  const Folder folder;
  {
    RecordStore store(folder.path() + "/made/on/demand");
    EXPECT_EQ(store.problem(), "");
    EXPECT_FALSE(store.find("a").has_value());
    store.put("a", sample(1));
    store.put("b", sample(2));
    store.put("a", sample(3));  // replaces, also before it is written
    expect_equal(*store.find("b"), sample(2));
  }
  RecordStore store(folder.path() + "/made/on/demand");
  expect_equal(*store.find("a"), sample(3));
  EXPECT_TRUE(store.clear());
  EXPECT_FALSE(store.find("a").has_value());
}

TEST(RecordStore, ATextWithQuotesAndZeroBytesIsAKey) {
  const Folder folder;
  const std::string key("it's \"odd\"\0;", 12);
  { RecordStore(folder.path()).put(key, sample(7)); }
  expect_equal(*RecordStore(folder.path()).find(key), sample(7));
}

TEST(RecordStore, ManyPutsAreFewTransactions) {
  const Folder folder;
  const auto start = std::chrono::steady_clock::now();
  {
    RecordStore store(folder.path());
    for (int i = 0; i < 1000; ++i) store.put("key" + std::to_string(i), sample(i));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordStore store(folder.path());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(store.find("key" + std::to_string(i)).has_value()) << i;
  }
  // A transaction each would wait for the disk 1,000 times.
  EXPECT_LT(took.count(), 2.0);
}

TEST(RecordStore, ACorruptFileIsPutAside) {
  const Folder folder;
  const std::string path = folder.path() + "/records.sqlite";
  std::ofstream(path) << std::string(8192, 'x');
  {
    RecordStore store(folder.path());
    EXPECT_EQ(store.problem(), "");
    EXPECT_FALSE(store.find("a").has_value());
    store.put("a", sample(1));
  }
  EXPECT_TRUE(RecordStore(folder.path()).find("a").has_value());
  EXPECT_EQ(fs::file_size(path + ".corrupt"), 8192u);
}

// Damage in the middle is met when a page is read: a miss, not a crash.
TEST(RecordStore, DamagedPagesAreMisses) {
  const Folder folder;
  {
    RecordStore store(folder.path());
    for (int i = 0; i < 500; ++i) store.put("key" + std::to_string(i), sample(i));
  }
  const std::string path = folder.path() + "/records.sqlite";
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  ASSERT_GT(size, 16384);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8192);
  for (std::streamoff i = 8192; i < size; ++i) file.put('\x5a');
  file.close();
  RecordStore store(folder.path());
  for (int i = 0; i < 500; ++i) {
    if (const auto record = store.find("key" + std::to_string(i))) expect_equal(*record, sample(i));
    store.put("key" + std::to_string(i), sample(i));
  }
}

TEST(RecordStore, AnotherVersionIsStartedAfresh) {
  const Folder folder;
  { RecordStore(folder.path()).put("a", sample(1)); }
  // user_version lies at byte 60 of the header, most significant byte first.
  std::fstream file(folder.path() + "/records.sqlite",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);
  file.write("\0\0\0\x63", 4);
  file.close();
  {
    RecordStore store(folder.path());
    EXPECT_FALSE(store.find("a").has_value());
    store.put("a", sample(2));
  }
  expect_equal(*RecordStore(folder.path()).find("a"), sample(2));
}

TEST(RecordStore, AnUnusableFolderMeansNotKnown) {
  const Folder folder;
  std::ofstream(folder.path() + "/file") << "no folder";
  for (const std::string& path :
       {folder.path() + "/file", std::string("/proc/nowhere"), std::string()}) {
    RecordStore store(path);
    EXPECT_NE(store.problem(), "") << path;
    store.put("a", sample(1));
    EXPECT_FALSE(store.find("a").has_value());
    EXPECT_FALSE(store.clear());
  }
}

// Runs as an ordinary user, for whom permissions hold.
int use_read_only_store(const std::string& folder) {
  if (geteuid() == 0 && setuid(65534) != 0) return 2;
  RecordStore store(folder);
  store.put("b", sample(2));
  return store.problem().empty() ? 1 : 0;
}

TEST(RecordStore, AReadOnlyFolderIsNotWritten) {
  const Folder folder;
  { RecordStore(folder.path()).put("a", sample(1)); }
  fs::permissions(folder.path() + "/records.sqlite", static_cast<fs::perms>(0444));
  fs::permissions(folder.path(), static_cast<fs::perms>(0555));
  EXPECT_EXIT(_exit(use_read_only_store(folder.path())), testing::ExitedWithCode(0), "");
}

// Four processes write at once; nobody loses a record.
TEST(RecordStore, ParallelProcesses) {
  const Folder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      {
        RecordStore store(folder.path());
        for (int i = 0; i < 200; ++i)
          store.put(std::to_string(child) + ":" + std::to_string(i), sample(i));
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  RecordStore store(folder.path());
  for (int child = 0; child < 4; ++child) {
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(store.find(std::to_string(child) + ":" + std::to_string(i)).has_value());
    }
  }
}

TEST(CacheFolder, FollowsXdg) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string old_cache = cache == nullptr ? "" : cache,
                    old_home = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "/tmp/cache", 1);
  EXPECT_EQ(default_cache_folder(), "/tmp/cache/lowwater");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(default_cache_folder(), "/home/somebody/.cache/lowwater");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(default_cache_folder(), "");
  if (cache != nullptr) setenv("XDG_CACHE_HOME", old_cache.c_str(), 1);
  if (home != nullptr) setenv("HOME", old_home.c_str(), 1);
}

}  // namespace
}  // namespace lowwater
