#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "tokenizer/utf8.h"

namespace minfer::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kHistoryLines = 2000;

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t resized = 0;

extern "C" void on_resize(int) { resized = 1; }

// Hears of new window sizes as long as it lives.
class ResizeSignal {
  public:
    ResizeSignal() {
        struct sigaction action = {};
        action.sa_handler = on_resize;
        sigaction(SIGWINCH, &action, &before_);
    }
    ~ResizeSignal() { sigaction(SIGWINCH, &before_, nullptr); }
    ResizeSignal(const ResizeSignal&) = delete;
    ResizeSignal& operator=(const ResizeSignal&) = delete;

  private:
    struct sigaction before_ = {};
};

std::string utf8(std::wstring_view text) {
    std::string out;
    for (const wchar_t c : text) append_utf8(out, char32_t(c));
    return out;
}

std::wstring wide(std::string_view text) {
    std::wstring out;
    while (!text.empty()) {
        const size_t n = tokenizer::first_sequence(text).length;
        out += wchar_t(decode_utf8(text.substr(0, n)));
        text.remove_prefix(n);
    }
    return out;
}

class TerminalInput final : public LineInput {
  public:
    TerminalInput(fs::path history_path, bool color)
        : history_path_(std::move(history_path)), color_(color), history_(history_init()) {
        // Widths of characters come from the locale; text here is UTF-8 whatever it says.
        if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
        edit_ = el_init("minfer", stdin, stdout, stderr);
        if (!edit_ || !history_) throw Error("the terminal cannot be used for editing; a pipe works");
        HistEvent event;
        history(history_, &event, H_SETSIZE, kHistoryLines);
        history(history_, &event, H_SETUNIQUE, 1);
        if (!history_path_.empty()) history(history_, &event, H_LOAD, history_path_.c_str());
        el_set(edit_, EL_CLIENTDATA, this);
        el_set(edit_, EL_EDITOR, "emacs");
        el_set(edit_, EL_HIST, history, history_);
        el_set(edit_, EL_PROMPT_ESC, &TerminalInput::prompt_text, '\1');
        el_set(edit_, EL_GETCFN, &TerminalInput::read_character);
        el_set(edit_, EL_ADDFN, "minfer-paste", "Insert what is pasted", &TerminalInput::paste);
        el_set(edit_, EL_BIND, "\\e[200~", "minfer-paste", nullptr);
        el_set(edit_, EL_ADDFN, "minfer-suspend", "Stop until the shell goes on with it", &TerminalInput::suspend);
        el_set(edit_, EL_BIND, "^Z", "minfer-suspend", nullptr);
        el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
        // The keys that libedit leaves unbound, as terminals send them.
        el_set(edit_, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
        el_set(edit_, EL_BIND, "\\e[1~", "ed-move-to-beg", nullptr);
        el_set(edit_, EL_BIND, "\\e[4~", "ed-move-to-end", nullptr);
        el_set(edit_, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
        el_set(edit_, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
        el_source(edit_, nullptr);
    }

    ~TerminalInput() override {
        if (edit_) el_end(edit_);
        if (history_) history_end(history_);
    }
    TerminalInput(const TerminalInput&) = delete;
    TerminalInput& operator=(const TerminalInput&) = delete;

    Line read(const std::string& prompt) override {
        // libedit loses an escape sequence that nothing follows, so the colour ends before the prompt's last character.
        prompt_ = color_
                      ? fmt::format("\1\x1b[1;32m\1{}\1\x1b[0m\1{}", prompt.substr(0, prompt.size() - 1), prompt.back())
                      : prompt;
        prompt_columns_ = int(prompt.size());
        pastes_.clear();
        const Interrupt interrupt(Interrupt::Again::IsTheSame);
        const ResizeSignal resize;
        interrupt_ = &interrupt;
        set_paste_marks(true);
        int n = 0;
        errno = 0;
        const wchar_t* text = el_wgets(edit_, &n);
        const int error = errno;
        set_paste_marks(false);
        interrupt_ = nullptr;
        if (interrupt.interrupted()) {
            std::fputs("^C\n", stdout);
            std::fflush(stdout);
            return {Event::Interrupted, std::exchange(given_up_, {})};
        }
        if (!text || n <= 0) {
            if (n < 0 && error != 0) throw IoError("the terminal", "read", error);
            std::fputs("\n", stdout);  // Ctrl-D leaves the cursor behind the prompt
            return {};
        }
        std::string line = utf8({text, size_t(n)});
        if (line.ends_with('\n')) line.pop_back();
        if (pastes_.empty())
            remember(line);
        else
            put_pastes_back(line);
        return {Event::Line, std::move(line)};
    }

  private:
    static TerminalInput& self(EditLine* edit) {
        void* data = nullptr;
        el_get(edit, EL_CLIENTDATA, &data);
        return *static_cast<TerminalInput*>(data);
    }

    static char* prompt_text(EditLine* edit) { return self(edit).prompt_.data(); }

    // libedit's own reader would take Ctrl-C for a reason to try again, and does not hear of a new window size.
    static int read_character(EditLine* edit, wchar_t* out) {
        TerminalInput& me = self(edit);
        std::string bytes;
        while (true) {
            if (me.interrupt_ && me.interrupt_->interrupted()) return me.give_up();
            char byte = 0;
            const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
            if (n == 0) return 0;
            if (n < 0) {
                if (errno != EINTR) return -1;
                if (me.interrupt_ && me.interrupt_->interrupted()) return me.give_up();
                if (std::exchange(resized, 0)) draw_anew(edit);
                continue;
            }
            bytes += byte;
            const tokenizer::Utf8Sequence sequence = tokenizer::first_sequence(bytes);
            if (sequence.state == tokenizer::Utf8Sequence::State::Cut) continue;
            *out =
                sequence.state == tokenizer::Utf8Sequence::State::Whole ? wchar_t(decode_utf8(bytes)) : wchar_t(0xfffd);
            return 1;
        }
    }

    // Ends the line at hand, as an error of reading does.
    int give_up() {
        const LineInfoW* line = el_wline(edit_);
        given_up_ = utf8({line->buffer, size_t(line->lastchar - line->buffer)});
        return -1;
    }

    // The window has another size, and the terminal has wrapped the line anew. libedit would go on from where the
    // cursor was; so the line is taken off the screen and drawn again from its start.
    static void draw_anew(EditLine* edit) {
        struct winsize window = {};
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return;
        const LineInfoW* line = el_wline(edit);
        int columns = self(edit).prompt_columns_;
        for (const wchar_t* c = line->buffer; c < line->cursor; ++c) columns += std::max(wcwidth(*c), 0);
        const int rows = columns / window.ws_col;
        fmt::print("\r{}\x1b[J", rows > 0 ? fmt::format("\x1b[{}A", rows) : "");
        std::fflush(stdout);
        el_resize(edit);
        el_set(edit, EL_REFRESH);
    }

    // Between the marks of a bracketed paste, which the terminal puts around what is pasted.
    static unsigned char paste(EditLine* edit, wint_t) {
        constexpr std::wstring_view kEnd = L"\x1b[201~";
        TerminalInput& me = self(edit);
        std::wstring text;
        while (!text.ends_with(kEnd)) {
            wchar_t c = 0;
            if (el_wgetc(edit, &c) != 1) return CC_EOF;
            text += c;
        }
        text.resize(text.size() - kEnd.size());
        for (size_t at = 0; (at = text.find(L'\r', at)) != std::wstring::npos; ++at)  // terminals send CR for a newline
            text.replace(at, at + 1 < text.size() && text[at + 1] == L'\n' ? 2 : 1, L"\n");
        if (text.ends_with(L'\n')) text.pop_back();
        if (text.find(L'\n') != std::wstring::npos) {
            const auto n_line = std::ranges::count(text, L'\n') + 1;
            std::string name = fmt::format("[{} lines pasted]", n_line);
            for (int i = 2; std::ranges::any_of(me.pastes_, [&](const auto& p) { return p.first == name; }); ++i)
                name = fmt::format("[{} lines pasted, {}]", n_line, i);
            me.pastes_.emplace_back(name, utf8(text));
            text = wide(name);
        }
        for (wchar_t& c : text)
            if (c < 0x20 || c == 0x7f) c = L' ';
        if (el_winsertstr(edit, text.c_str()) != 0) return CC_ERROR;
        return CC_REFRESH;
    }

    // libedit takes Ctrl-Z's meaning from the terminal and gives it none of its own.
    static unsigned char suspend(EditLine* edit, wint_t) {
        set_paste_marks(false);
        el_set(edit, EL_PREP_TERM, 0);
        kill(0, SIGTSTP);
        el_set(edit, EL_PREP_TERM, 1);
        set_paste_marks(true);
        return CC_REDISPLAY;
    }

    void put_pastes_back(std::string& line) const {
        for (const auto& [name, text] : pastes_)
            if (const size_t at = line.find(name); at != std::string::npos) line.replace(at, name.size(), text);
    }

    static void set_paste_marks(bool on) {
        std::fputs(on ? "\x1b[?2004h" : "\x1b[?2004l", stdout);
        std::fflush(stdout);
    }

    void remember(const std::string& line) {
        if (line.empty()) return;
        HistEvent event;
        history(history_, &event, H_ENTER, line.c_str());
        if (!history_path_.empty()) append_to_file(line);
    }

    // The file is read anew, so that lines of other conversations stay, and replaced whole.
    void append_to_file(const std::string& line) const {
        HistEvent event;
        History* all = history_init();
        if (!all) return;
        history(all, &event, H_SETSIZE, kHistoryLines);
        history(all, &event, H_SETUNIQUE, 1);
        history(all, &event, H_LOAD, history_path_.c_str());
        history(all, &event, H_ENTER, line.c_str());
        const std::string temporary = fmt::format("{}.{}", history_path_.string(), getpid());
        std::error_code ignored;  // a history that cannot be kept is no reason to stop a conversation
        fs::create_directories(history_path_.parent_path(), ignored);
        const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (FILE* file = fd >= 0 ? fdopen(fd, "w") : nullptr) {
            const bool saved = history(all, &event, H_SAVE_FP, file) >= 0;
            if (std::fclose(file) == 0 && saved)
                fs::rename(temporary, history_path_, ignored);
            else
                fs::remove(temporary, ignored);
        }
        history_end(all);
    }

    fs::path history_path_;
    bool color_;
    History* history_;
    EditLine* edit_ = nullptr;
    std::string prompt_;
    int prompt_columns_ = 0;
    const Interrupt* interrupt_ = nullptr;
    std::string given_up_;                                     // by Ctrl-C
    std::vector<std::pair<std::string, std::string>> pastes_;  // what stands for it in the line, and the text
};

}  // namespace

std::unique_ptr<LineInput> terminal_input(const fs::path& history, bool color) {
    return std::make_unique<TerminalInput>(history, color);
}

fs::path history_file() {
    if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state)
        return fs::path(state) / "minfer" / "history";
    const char* home = std::getenv("HOME");
    return home && *home ? fs::path(home) / ".local" / "state" / "minfer" / "history" : fs::path();
}

}  // namespace minfer::cli
