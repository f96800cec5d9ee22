// Folders as people have them: links, interrupted downloads, names of any bytes, outputs among the inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

namespace fs = std::filesystem;
using convert::plan_conversion;
using testing::HasSubstr;

template <typename E>
std::string refusal(const convert::ConvertOptions& options) {
    return message_of<E>([&] { plan_conversion(options); });
}

TEST(Folder, ALinkThatLeadsNowhereIsNoAbsentFile) {
    for (const char* name : {"README.md", "modules.json", "chat_template.jinja", "chat_template.json",
                             "model.safetensors", "model.safetensors.index.json"}) {
        TinyCheckpoint tiny;
        tiny.tokenizer_config.erase("chat_template");
        tiny.write();
        if (std::string(name) != "chat_template.jinja") write_file(tiny.folder() / "chat_template.jinja", "t");
        if (std::string(name) == "chat_template.json") fs::remove(tiny.folder() / "chat_template.jinja");
        EXPECT_TRUE(std::string(name).starts_with("chat_template") || refusal<Error>(tiny.options()) == "no exception");
        fs::remove(tiny.folder() / name);
        fs::create_symlink("../blobs/gone", tiny.folder() / name);
        EXPECT_THAT(refusal<IoError>(tiny.options()), HasSubstr(std::string(name) + ": cannot open")) << name;
    }
}

TEST(Folder, ALinkToNoRecommendedSamplingIsNoted) {
    const TinyCheckpoint tiny;
    tiny.write();
    fs::remove(tiny.folder() / "generation_config.json");
    EXPECT_TRUE(plan_conversion(tiny.options()).notes().empty());
    fs::create_symlink("../blobs/gone", tiny.folder() / "generation_config.json");
    const convert::Conversion conversion = plan_conversion(tiny.options());
    ASSERT_EQ(conversion.notes().size(), 1u);
    EXPECT_THAT(conversion.notes()[0], HasSubstr("without the recommended sampling: "));
    EXPECT_THAT(conversion.notes()[0], HasSubstr("generation_config.json: cannot open"));
    for (const gguf::KeyValue& entry : conversion.writer().metadata())
        EXPECT_FALSE(entry.key.starts_with("general.sampling.")) << entry.key;
}

TEST(Folder, LinksIntoACacheAreFollowed) {
    const TinyCheckpoint tiny;
    tiny.write();
    const fs::path blobs = tiny.folder().parent_path() / "blobs";
    fs::create_directory(blobs);
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(tiny.folder())) files.push_back(entry.path());
    for (const fs::path& file : files) {
        fs::rename(file, blobs / file.filename());
        fs::create_symlink("../blobs" / file.filename(), file);
    }
    EXPECT_EQ(refusal<Error>(tiny.options()), "no exception");
    convert::ConvertOptions options = tiny.options();
    for (const char* name : {"model.safetensors", "tokenizer.json"}) {  // as the links' target too
        options.output = (blobs / name).string();
        EXPECT_THAT(refusal<Error>(options), HasSubstr("is a file of the checkpoint; write to another path")) << name;
    }
}

TEST(Folder, NoInputIsOverwritten) {
    const TinyCheckpoint tiny;
    tiny.write();
    fs::create_directory(tiny.folder() / "1_Pooling");
    write_file(tiny.folder() / "1_Pooling" / "config.json", "{}");
    fs::create_symlink("loop", tiny.folder() / "loop");  // cannot be looked at
    const fs::path beside = tiny.folder().parent_path();
    fs::create_hard_link(tiny.folder() / "model.safetensors", beside / "hard.gguf");
    fs::create_symlink("Tiny/config.json", beside / "soft.gguf");
    convert::ConvertOptions options = tiny.options();
    for (const fs::path& path : {tiny.folder() / "model.safetensors", tiny.folder() / "config.json",
                                 tiny.folder() / "1_Pooling" / "config.json", tiny.folder() / ".." / "Tiny/config.json",
                                 beside / "hard.gguf", beside / "soft.gguf"}) {
        options.output = path.string();
        EXPECT_THAT(refusal<Error>(options), HasSubstr("is a file of the checkpoint; write to another path")) << path;
    }
}

TEST(Folder, AnOutputMayLieInTheFolderAndBeOverwritten) {
    const TinyCheckpoint tiny;
    tiny.write();
    convert::ConvertOptions options = tiny.options();
    options.output = (tiny.folder() / "out.gguf").string();
    std::string first;
    for (int round = 0; round < 2; ++round) {
        plan_conversion(options).run({});
        const std::string bytes = read_file(options.output);
        EXPECT_TRUE(round == 0 || bytes == first);
        first = bytes;
    }
    EXPECT_EQ(first.substr(0, 4), "GGUF");
}

TEST(Folder, StringsOfAGgufFileAreUtf8) {
    TinyCheckpoint tiny;
    tiny.tokenizer_config.erase("chat_template");
    tiny.write();
    write_file(tiny.folder() / "chat_template.jinja", "\xff");
    EXPECT_THAT(refusal<FormatError>(tiny.options()),
                HasSubstr("chat_template.jinja: text: found bytes that are not UTF-8"));
    write_file(tiny.folder() / "chat_template.jinja", "t");
    write_file(tiny.folder() / "README.md", "---\nname: \xc3\n---\n");
    EXPECT_THAT(refusal<FormatError>(tiny.options()), HasSubstr("README.md: text: found bytes that are not UTF-8"));
    write_file(tiny.folder() / "README.md", "---\nname: x\n---\n\xc3");  // past what is read
    EXPECT_EQ(refusal<Error>(tiny.options()), "no exception");

    convert::ConvertOptions options = tiny.options();
    options.source = tiny.folder().parent_path() / "Tiny\xff-7B";
    fs::rename(tiny.folder(), options.source);
    EXPECT_THAT(refusal<FormatError>(options), HasSubstr("the name of the folder 'Tiny\xff-7B'"));
    fs::rename(options.source, tiny.folder());
    options.source = tiny.folder().parent_path() / "T\u00efny";
    fs::rename(tiny.folder(), options.source);
    EXPECT_EQ(refusal<Error>(options), "no exception");
    fs::rename(options.source, tiny.folder());
}

TEST(Folder, AnySpellingOfItsPathGivesItsName) {
    const TinyCheckpoint tiny;
    tiny.write();
    for (const char* spelling : {"", "/", "/.", "/../Tiny", "//"}) {
        convert::ConvertOptions options = tiny.options();
        options.source = tiny.folder().string() + spelling;
        const convert::Conversion conversion = plan_conversion(options);
        for (const gguf::KeyValue& entry : conversion.writer().metadata())
            if (entry.key == "general.name") {
                EXPECT_EQ(entry.value.as<std::string>(), "Tiny") << spelling;
            }
    }
}

TEST(Folder, FilesThatAreNoFilesAreNamed) {
    for (const char* name :
         {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "generation_config.json"}) {
        const TinyCheckpoint tiny;
        tiny.write();
        fs::remove(tiny.folder() / name);
        fs::create_directory(tiny.folder() / name);
        EXPECT_THAT(refusal<IoError>(tiny.options()), HasSubstr(std::string(name) + ": cannot read")) << name;
    }
}

TEST(Folder, NamesFromFilesReachNoTerminalAsTheyAre) {
    TinyCheckpoint tiny;
    tiny.tensors.push_back({"\x1b[2J\n", "BF16", {4}, ""});
    tiny.write();
    const std::string message = refusal<UnsupportedError>(tiny.options());
    EXPECT_THAT(message, HasSubstr("tensor '\\x1b[2J\\x0a' has no GGUF mapping"));
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace minfer::test
