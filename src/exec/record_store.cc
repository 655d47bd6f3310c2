#include "exec/record_store.h"

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

namespace lowwater {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyMs = 2000;
// Records written in one transaction; what is pending is written at the end too.
constexpr std::size_t kBatch = 64;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinaliseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinaliseStatement>;

bool execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Statement(statement);
}

void bind(const Statement& statement, int position, const std::string& text) {
  sqlite3_bind_text(statement.get(), position, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

int user_version(sqlite3* database) {
  const Statement statement = prepare(database, "PRAGMA user_version");
  if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) return -1;
  return sqlite3_column_int(statement.get(), 0);
}

// Sixteen hex digits (FNV-1a): the index stays small. The key itself is stored
// beside it and compared, so that a collision is only a miss.
std::string hash_of(const std::string& key) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(hash >> shift) & 15];
  return text;
}

}  // namespace

struct RecordStore::State {
  std::mutex mutex;
  std::string path, problem;
  Database database;
  std::vector<std::pair<std::string, std::string>> pending;  // key, json

  void open();
  // SQLITE_OK if the file is a store of ours, after creating what is missing.
  int try_open();
  void flush();
};

RecordStore::RecordStore(const std::string& folder) : state_(std::make_unique<State>()) {
  if (folder.empty()) {
    state_->problem = "no cache folder: neither XDG_CACHE_HOME nor HOME is set";
    return;
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    state_->problem = "cannot create " + folder + ": " + failed.message();
    return;
  }
  state_->path = (std::filesystem::path(folder) / "records.sqlite").string();
  state_->open();
}

RecordStore::~RecordStore() {
  std::lock_guard lock(state_->mutex);
  state_->flush();
}

int RecordStore::State::try_open() {
  sqlite3* handle = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, kFlags, nullptr);
  database.reset(handle);
  if (opened != SQLITE_OK) return opened;
  sqlite3_busy_timeout(handle, kBusyMs);
  execute(handle, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  // A store of another version holds nothing that is worth converting.
  execute(handle, "BEGIN IMMEDIATE");
  const int version = user_version(handle);
  if (version >= 0 && version != kSchemaVersion) {
    execute(handle, "DROP TABLE IF EXISTS records");
    execute(handle, ("PRAGMA user_version=" + std::to_string(kSchemaVersion)).c_str());
  }
  execute(handle,
          "CREATE TABLE IF NOT EXISTS records"
          " (hash TEXT PRIMARY KEY, key TEXT NOT NULL, json TEXT NOT NULL) WITHOUT ROWID");
  const int last = sqlite3_errcode(handle);
  execute(handle, "COMMIT");
  return last;
}

void RecordStore::State::open() {
  const int first = try_open();
  if (first == SQLITE_CORRUPT || first == SQLITE_NOTADB) {
    // Put aside, not deleted: somebody may want to know what happened to it.
    database.reset();
    std::error_code failed;
    std::filesystem::rename(path, path + ".corrupt", failed);
    if (!failed) {
      std::filesystem::remove(path + "-wal", failed);
      std::filesystem::remove(path + "-shm", failed);
      try_open();
    }
  }
  if (!prepare(database.get(), "SELECT json FROM records LIMIT 1")) {
    problem = path + ": " + sqlite3_errmsg(database.get());
    database.reset();
  } else if (sqlite3_db_readonly(database.get(), "main") == 1) {
    problem = path + " cannot be written";
  }
}

std::optional<StepRecord> RecordStore::find(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  if (state_->database == nullptr) return std::nullopt;
  for (const auto& [known, json] : state_->pending) {
    if (known == key) return record_from_json(json);
  }
  const Statement query =
      prepare(state_->database.get(), "SELECT json FROM records WHERE hash = ? AND key = ?");
  if (!query) return std::nullopt;
  bind(query, 1, hash_of(key));
  bind(query, 2, key);
  if (sqlite3_step(query.get()) != SQLITE_ROW) return std::nullopt;
  const auto* text = static_cast<const char*>(sqlite3_column_blob(query.get(), 0));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(query.get(), 0));
  return text == nullptr ? std::nullopt : record_from_json(std::string(text, size));
}

void RecordStore::put(const std::string& key, const StepRecord& record) {
  std::lock_guard lock(state_->mutex);
  if (state_->database == nullptr) return;
  state_->pending.emplace_back(key, record_to_json(record));
  if (state_->pending.size() >= kBatch) state_->flush();
}

void RecordStore::State::flush() {
  if (database == nullptr || pending.empty()) return;
  const std::vector<std::pair<std::string, std::string>> batch = std::exchange(pending, {});
  if (!execute(database.get(), "BEGIN IMMEDIATE")) return;  // another process is busy for long
  for (const auto& [key, json] : batch) {
    const Statement insert = prepare(
        database.get(), "INSERT OR REPLACE INTO records (hash, key, json) VALUES (?, ?, ?)");
    if (!insert) break;
    bind(insert, 1, hash_of(key));
    bind(insert, 2, key);
    bind(insert, 3, json);
    if (sqlite3_step(insert.get()) != SQLITE_DONE) break;
  }
  if (!execute(database.get(), "COMMIT")) execute(database.get(), "ROLLBACK");
}

bool RecordStore::clear() {
  std::lock_guard lock(state_->mutex);
  state_->pending.clear();
  return state_->database != nullptr && execute(state_->database.get(), "DELETE FROM records") &&
         execute(state_->database.get(), "VACUUM");
}

std::string RecordStore::problem() const { return state_->problem; }
std::string RecordStore::path() const { return state_->path; }

std::string default_cache_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  // The XDG specification: a relative path is to be ignored.
  const std::filesystem::path cache = variable("XDG_CACHE_HOME");
  if (cache.is_absolute()) return (cache / "lowwater").string();
  const std::string home = variable("HOME");
  return home.empty() ? "" : (std::filesystem::path(home) / ".cache" / "lowwater").string();
}

}  // namespace lowwater
