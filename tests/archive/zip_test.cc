#include "archive/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lowwater/error.h"
#include "temp_file.h"
#include "zip_builder.h"

namespace lowwater {
namespace {

using test::as_bytes;
using test::as_text;
using test::ZipEntry;
using test::ZipFile;

std::vector<Record> directory(const std::string& bytes) {
  return read_zip_directory(as_bytes(bytes), "f.zip");
}

// The refusal's text, or "accepted".
std::string refusal(const std::string& bytes) {
  try {
    directory(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_EQ(error.where(), "f.zip");
    return error.message();
  }
  return "accepted";
}

const std::string kText = "some text, some text, some text, some text";

// Name and content of every record; a CRC that does not match is said.
std::vector<std::pair<std::string, std::string>> contents(const std::string& bytes) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Record& record : directory(bytes)) {
    const bool sound = crc_matches(as_bytes(bytes), record);
    all.emplace_back(record.name, sound ? as_text(read_record(as_bytes(bytes), record)) : "(CRC)");
  }
  return all;
}

TEST(Zip, ReadsStoredAndDeflatedRecords) {
  const std::string bytes = ZipFile{
      {{.name = "r/a", .payload = kText},
       {.name = "r/b", .payload = kText, .deflate = true},
       {.name = "r/none",
        .payload = ""}}}.bytes();
  EXPECT_THAT(contents(bytes),
              testing::ElementsAre(testing::Pair("r/a", kText), testing::Pair("r/b", kText),
                                   testing::Pair("r/none", "")));
}

TEST(Zip, StoredRecordIsAWindowBehindTheLocalHeadersOwnExtraField) {
  // Padding stands in the local header only: the directory does not know it.
  const std::string bytes = ZipFile{{{.name = "a", .payload = kText, .padding = 33}}}.bytes();
  const Record record = directory(bytes).at(0);
  EXPECT_EQ(record.offset, 30 + 1 + 33);
  EXPECT_EQ(record.stored_size, static_cast<Bytes>(kText.size()));
  EXPECT_EQ(bytes.substr(static_cast<std::size_t>(record.offset), kText.size()), kText);
}

TEST(Zip, ReadsZip64AndDataDescriptorsAndComments) {
  for (const bool wide : {false, true}) {
    ZipFile file{
        {{.name = "a", .payload = kText, .descriptor = true, .zip64 = wide},
         {.name = "b", .payload = kText, .deflate = true, .descriptor = true, .zip64 = wide}}};
    file.zip64 = wide;
    file.comment = "comment";
    EXPECT_THAT(contents(file.bytes()),
                testing::ElementsAre(testing::Pair("a", kText), testing::Pair("b", kText)))
        << wide;
  }
}

TEST(Zip, TrailingJunkIsPassedOver) {
  ZipFile file{{{.name = "a", .payload = kText}}};
  for (const std::size_t junk : {1, 21, 22, 60000}) {
    file.after = std::string(junk, 'x');
    EXPECT_THAT(contents(file.bytes()), testing::ElementsAre(testing::Pair("a", kText))) << junk;
  }
  file.after = std::string(70000, 'x');
  EXPECT_THAT(refusal(file.bytes()), testing::HasSubstr("truncated: no directory at its end"));
}

TEST(Zip, FilesWrittenByPythonsZipfile) {
  std::string ramp;
  for (int i = 0; i < 256; ++i) ramp += static_cast<char>(i);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "the first record\n";
  for (const char* name :
       {"stored", "deflated", "streamed", "streamed_stored", "local_zip64", "comment"}) {
    const std::string bytes =
        test::read_file(test::data_path(std::string("zips/") + name + ".zip"));
    EXPECT_THAT(contents(bytes), testing::ElementsAre(testing::Pair("root/first.txt", lines),
                                                      testing::Pair("root/empty", ""),
                                                      testing::Pair("root/b/\u00e9.bin", ramp)))
        << name;
  }
}

TEST(Zip, UnreadableRecordsAreRefusedByName) {
  EXPECT_EQ(refusal(test::read_file(test::data_path("zips/bzip2.zip"))),
            "record 'root/first.txt' is compressed with bzip2; only stored and DEFLATE records can "
            "be read");
  EXPECT_THAT(refusal(test::read_file(test::data_path("zips/lzma.zip"))),
              testing::HasSubstr("LZMA"));
  EXPECT_THAT(refusal(ZipFile{{{.name = "a", .payload = "x", .method = 77}}}.bytes()),
              testing::HasSubstr("method 77"));
  EXPECT_EQ(refusal(ZipFile{{{.name = "a", .payload = "x", .flags = 1}}}.bytes()),
            "record 'a' is encrypted");
}

// Overwrites `value`'s bytes at `at`.
template <class T>
std::string with(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
  return bytes;
}

TEST(Zip, SplitFilesAreRefused) {
  const std::string bytes = ZipFile{{{.name = "a", .payload = "x"}}}.bytes();
  const std::size_t end = bytes.size() - 22;
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, end + 4, 1)), testing::HasSubstr("split"));
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, bytes.find("PK\1\2") + 34, 3)),
              testing::HasSubstr("split"));
  ZipFile wide{{{.name = "a", .payload = "x"}}};
  wide.zip64 = true;
  const std::string wide_bytes = wide.bytes();
  EXPECT_THAT(refusal(with<std::uint32_t>(wide_bytes, wide_bytes.size() - 22 - 4, 2)),
              testing::HasSubstr("split"));
}

TEST(Zip, ContradictionsAreRefused) {
  const std::string bytes =
      ZipFile{{{.name = "ab", .payload = kText}, {.name = "cd", .payload = kText}}}.bytes();
  const std::size_t entry = bytes.find("PK\1\2"), second = bytes.find("PK\1\2", entry + 4);
  const auto contains = [](const char* text) { return testing::HasSubstr(text); };
  EXPECT_THAT(refusal(with<std::uint32_t>(bytes, entry + 42, 0xFFFFFFF0)),
              contains("no local header"));
  EXPECT_THAT(refusal(with<std::uint32_t>(bytes, entry + 42, 1)), contains("no local header"));
  EXPECT_THAT(refusal(with<std::uint32_t>(bytes, entry + 20, 5000)), contains("outside the file"));
  EXPECT_THAT(refusal(with<std::uint32_t>(bytes, entry + 24, 5)), contains("two sizes differ"));
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, entry + 10, 8)), contains("methods differ"));
  EXPECT_THAT(refusal(with<char>(bytes, 30, 'x')), contains("two names differ"));
  EXPECT_THAT(refusal(with<std::uint32_t>(bytes, entry, 0)), contains("directory is corrupt"));
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, second + 28, 60000)),
              contains("directory is corrupt"));
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, bytes.size() - 12, 1)),
              contains("more than it counts"));
  EXPECT_THAT(refusal(with<std::uint16_t>(bytes, bytes.size() - 12, 3)),
              contains("directory is corrupt"));
}

TEST(Zip, NamesAreUniqueAndBytesBelongToOneRecord) {
  EXPECT_EQ(
      refusal(ZipFile{{{.name = "a", .payload = "x"}, {.name = "a", .payload = "y"}}}.bytes()),
      "the ZIP file holds two records named 'a'");
  // The first record's payload holds a whole local header for the second one.
  ZipFile inner{{{.name = "b", .payload = "y"}}};
  const std::string local = inner.bytes().substr(0, 32);
  const std::string outer =
      ZipFile{{{.name = "a", .payload = local}, {.name = "b", .payload = "y"}}}.bytes();
  const std::size_t entry = outer.find("PK\1\2", outer.find("PK\1\2") + 4);
  EXPECT_EQ(refusal(with<std::uint32_t>(outer, entry + 42, 31)),
            "two records of the ZIP file overlap");
}

TEST(Zip, ClaimsThatDeflateCannotMeetAreRefusedBeforeAnyAllocation) {
  ZipFile file{{{.name = "a", .payload = kText, .deflate = true, .zip64 = true}}};
  const std::string bytes = file.bytes();
  const std::size_t size64 = bytes.find("PK\1\2") + 46 + 1 + 4;
  EXPECT_THAT(refusal(with<std::uint64_t>(bytes, size64, std::uint64_t{1} << 60)),
              testing::HasSubstr("claims more bytes"));
}

TEST(Zip, WrongInflatedSizeIsAnErrorAtReading) {
  const std::string bytes = ZipFile{{{.name = "a", .payload = kText, .deflate = true}}}.bytes();
  const std::size_t entry = bytes.find("PK\1\2");
  for (const std::size_t size : {kText.size() - 1, kText.size() + 1, std::size_t{0}}) {
    const std::string wrong =
        with<std::uint32_t>(bytes, entry + 24, static_cast<std::uint32_t>(size));
    const Record record = directory(wrong).at(0);
    EXPECT_FALSE(crc_matches(as_bytes(wrong), record)) << size;
    EXPECT_THROW(read_record(as_bytes(wrong), record, "f.zip"), Error) << size;
  }
}

// Truncation: refused at every length, never read beyond the end (address
// sanitizer sees each prefix as an allocation of its own).
TEST(Zip, TruncatedAtEveryLength) {
  ZipFile file{
      {{.name = "root/a", .payload = kText, .padding = 20},
       {.name = "root/b", .payload = kText, .deflate = true, .descriptor = true, .zip64 = true}}};
  for (const bool wide : {false, true}) {
    file.zip64 = wide;
    const std::string bytes = file.bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::vector<char> prefix(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_THROW(read_zip_directory(std::as_bytes(std::span(prefix)), "f.zip"), Error) << length;
    }
    EXPECT_EQ(refusal(bytes), "accepted");
  }
}

// Any flipped bit is either refused, seen by a CRC, or harmless: the records
// that still match their CRC hold what was written.
TEST(Zip, FlippedBitsNeverGiveOtherContents) {
  ZipFile file{{{.name = "root/a", .payload = kText, .padding = 20},
                {.name = "root/b", .payload = kText, .deflate = true, .descriptor = true}}};
  file.zip64 = true;
  const std::string bytes = file.bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try {
      for (const auto& [name, content] : contents(flipped)) {
        EXPECT_TRUE(content == kText || content == "(CRC)") << "bit " << bit << " of " << name;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << bit;
    }
  }
}

TEST(Zip, OtherFilesAreNotZipFiles) {
  EXPECT_EQ(refusal(""), "is not a ZIP file");
  EXPECT_EQ(refusal("PK"), "is not a ZIP file");
  EXPECT_EQ(refusal(std::string(100, 'x')), "is not a ZIP file");
}

TEST(Zip, SomethingBeforeTheArchiveIsRefused) {
  ZipFile file{{{.name = "a", .payload = kText}}};
  const std::string shifted =
      "#!/bin/sh\n" + file.bytes();  // offsets no longer count from the start
  EXPECT_EQ(refusal(shifted), "the ZIP file is corrupt: its directory is not where it should be");
}

TEST(MappedFile, RefusesWhatCannotBeMapped) {
  const test::TempFolder folder;
  const auto message = [](const std::string& path) {
    try {
      MappedFile::open(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(folder.path("none")), folder.path("none") +
                                              ": cannot be opened: No such file or directory; give "
                                              "the path of a file that can be read");
  EXPECT_THAT(message(folder.path("")), testing::HasSubstr("is a folder"));
  EXPECT_THAT(message("/dev/null"), testing::HasSubstr("not a regular file"));
  EXPECT_TRUE(MappedFile::open(folder.write("empty", ""))->bytes().empty());
  EXPECT_EQ(as_text(MappedFile::open(folder.write("file", "abc"))->bytes()), "abc");
}

}  // namespace
}  // namespace lowwater
