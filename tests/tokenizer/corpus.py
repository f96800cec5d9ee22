"""Text to try a tokenizer on, the same on every machine: the world's scripts, emoji, marks, code, white space, and
mixtures of all of them from a seeded generator of our own (Python's `random` may change between versions)."""
import struct
import sys
import unicodedata

SENTENCES = """The quick brown fox jumps over the lazy dog; she'll say it isn't so, and they've known we're late. I'd go, I'm sure.
IT'S DON'T WE'LL I'VE YOU'RE HE'D I'M don'ſt it'ſ 'S'T'RE'VE'M'LL'D 'sx 'tx 're 'r 'v 'l ''s ''' 'Kelvin K
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. STRASSE Straße ẞ ﬁ ﬂ ﬀ ﬆ ﬅ
Portez ce vieux whisky au juge blond qui fume : « l'été, l'œuvre, aujourd'hui, qu'il n'a pas ».
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío; añoraba a su querido cachorro. ¿Qué? ¡Sí!
À noite, vovô Kowalsky vê o ímã cair no pé do pinguim queixoso e vovó põe açúcar no chá de tâmaras do jabuti feliz.
Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń. Árvíztűrő tükörfúrógép. Pijamalı hasta yağız şoföre çabucak güvendi. İIıi
Tiếng Việt: Con sói láu lỉnh và chú cừu ngây thơ, những nghiêng ngả, đường phố Hà Nội.
Съешь же ещё этих мягких французских булок, да выпей чаю. Ђурђевдан. Ґанок їжака. Хүүхэд ң ө ү
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ᾳ ῃ ῳ ΐ ΰ ὧδε τίς Ἀχιλῆος οὐλομένην
דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם עֲלֵיכֶם בְּרֵאשִׁית
نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. السَّلَامُ عَلَيْكُمْ ١٢٣٤٥ ۱۲۳ فارسی می‌خواهم اُردُو ﷺ لا
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश। क्षत्रिय १२३४ नमस्ते क़ ख़
আমি বাংলায় গান গাই। কোনো ড় ঢ় য় ৎ ১২৩
ਪੰਜਾਬੀ ਗੁਰਮੁਖੀ ਲਿਪੀ ਸ਼ ਖ਼ ਗ਼। ગુજરાતી લિપિ ૧૨૩
தமிழ் மொழி கொடுக்க நினைத்தேன் கோ கௌ ௧௨௩. తెలుగు భాష కై. ಕನ್ನಡ ಭಾಷೆ ಕೊ ಕೋ. മലയാളം ഭാഷ കൊ കോ കൗ. සිංහල ක්‍ෂේත්‍රය කෝ
ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ กำ น้ำ ๑๒๓. ພາສາລາວ ຄຳ ໜ ໝ. ភាសាខ្មែរ ស្រឡាញ់ ១២៣. မြန်မာဘာသာ ဦး ၁၂၃
བོད་སྐད་ དང་ གཱི རྒྱལ་པོ ༡༢༣. ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌᠎ᠠ. ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ. Հայերեն լեզու և ﬓ. አማርኛ ፩፪፫
天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。简体中文没有空格，所以很长很长。〇一二三四五 ㊀㊁ 第１２３号 〸〹
いろはにほへと ちりぬるを。カタカナ ｶﾀｶﾅ ﾊﾞﾋﾟ ガギグ がぎぐ 東京都２３区、ヽヾ ゛゜ 〜ー
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. 한글 각 힣 ᄀᄀᄀ각ᆨᆨ ㄱㅏㄴ
𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒜𝒷𝒸 𝟘𝟙𝟚 𝟏𝟐 𐍈𐌰𐌿 𐎠𐎡 𒀀𒀁 𓀀𓁐 𠀀𠜎 𞤀𞤁 𐓏𐓘 𑄃𑄄 𖬀𖬁
ᚠᛇᚻ ᛒᛦᚦ ᚩᛋ ⠓⠑⠇⠇⠕ Ꭰꭰ ᐃᓄᒃᑎᑐᑦ ⵜⵉⴼⵉⵏⴰⵖ ꦗꦮ ᬅᬓ᭄ ᮞᮥᮔ᮪ ꯃꯤꯇꯩ ᜊᜌ
½ ⅓ ¾ ² ³ ¹ ₀ ₉ Ⅷ ⅷ ↀ ① ⑳ ⓪ 🄁 ㉈ ௰ ൰ ༳ ፼ 一 ٠ 𐄇 𐹠
1 12 123 1234 12345 1234567890 0.5 -3.14e-10 1,000,000 0xDEADBEEF 2024-01-31T23:59:59Z 50% $9.99 #1 №5 1st 2nd a1b2c3 v1.2.3-rc4
👩‍👩‍👧‍👦 👨🏽‍💻 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪🇫🇷🇯🇵 1️⃣ #️⃣ ❤️ ❤ 👍🏿 🤷🏻‍♀️ ☺︎ 🫠 ⌚ ™ © 🧑‍🚀🚀🌍
e\u0301 é n\u0303 ñ o\u0302\u0323 ộ a\u0323\u0302 q\u0307\u0323 s\u0323\u0307 ṩ A\u030A Å \u212B \u2126 \u212A \u1E9B\u0323 \u0344 \u0958 \u2ADC \uFB1D \u0F73\u0F75 \u0308\u0301 \u0301\u0308
Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334\u0319\u0324a\u0335\u031E\u035Elgo \u20E3 \u0488 \uA66F a\u0315\u0300\u05AE\u0062 \u1100\u1161\u11A8 \uAC00\u11A8 \u09C7\u09BE \u0B47\u0B57 \u1112\u1161
zero\u200Bwidth \u200Cnon \u200Djoin \u2060wj \uFEFFbom soft\u00ADhyphen \u180Emvs rtl\u200Flri\u2066x\u2069 \u2028ls\u2029ps \uFFFC \uFFFD \uE000 \U000F0000 \U0010FFFF \uFFFF \u0378
\x00nul \x01\x02\x07 \x1b[31mred\x1b[0m \x7f \x80\x85\x9f nbsp\u00a0thin\u2009ideo\u3000en\u2002ogham\u1680mm\u205f narrow\u202f tab\tvt\x0bff\x0c
int main(int argc, char** argv) { return std::printf("%d\\n", argc) == 0 ? 1 : 0; }  // a comment
def f(x: int = 0) -> dict[str, Any]:\\n    '''doc'''\\n    return {k: v for k, v in x.items() if k != "__init__"}\\n\\n\\nclass A(B):\\n\tpass
<html lang="en"><body onload='x()'>&nbsp;&lt;p&gt; http://example.com/a/b?c=d&e=f#g</body></html><!-- c -->
SELECT a.*, COUNT(*) FROM t1 AS a WHERE x <> 'it''s' AND y >= 10 -- end\\n;  {"json": [1, 2.5, null, true], "k": "v\\u00e9"}
$$\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi}$$ ∀x∈ℝ: ∃y≥0 ⟹ x²+y²≠0 ∑∏√∞≈ ⌊x⌋ ←→↔ αβγ ℵ₀
# Heading\\n\\n- item *bold* `code`\\n- [x] done ~~no~~\\n\\n| a | b |\\n|---|---|\\n```c++\\nx<<=1;\\n```\\n> quote ... --- *** === >>> !!! ???""".split("\n")
SENTENCES = [s.replace("\\n", "\n") for s in SENTENCES]

SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", "\n\n\n", " \n", "\n ", " \n \n", "\t\t", " \t ", "\u00a0",
          "\u3000", "\u2003", "\u2028", "\u0085", "\x0b", "\x0c", " " * 9, "\n" * 7, "\r\n\r\n", "\u180e", "\u200b", "\ufeff"]
PIECES = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'LL", "'d", "'", "\"", "’s", "`", "''", "'ſ", "'x", "a", "A", "ab", "the",
          "The", "Hello", "ing", "é", "e\u0301", "ß", "ñ", "ü", "İ", "ж", "Ω", "א", "ع", "क", "क्ष", "ก", "中", "中文", "あ", "ガ",
          "한", "ᄒ", "ᅡ", "ᆫ", "\u0301", "\u0323", "\u0308", "\u093c", "\u3099", "1", "12", "123", "1234", "0", "٣", "½", "²", "Ⅷ",
          "𝟘", ".", ",", "!", "?", "...", "--", "==", "!=", "->", "::", "//", "/*", "*/", "<", ">", "</", "<|", "|>", "{", "}", "()",
          "[", "]", "#", "@", "$", "€", "%", "^", "&", "_", "__", "\\", "\\n", "|", "~", "👍", "👍🏽", "👩‍💻", "🇩🇪", "️", "\u200d",
          "\x00", "\x1b", "\x7f", "\ufffd", "\ue000", "\U0010ffff", "𠀀", "𓀀"]


class Random:
    """xorshift64*."""

    def __init__(self, seed):
        self.state = seed * 0x9E3779B97F4A7C15 % 2 ** 64 or 1

    def below(self, n):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & 2 ** 64 - 1
        x ^= x >> 27
        self.state = x
        return (x * 0x2545F4914F6CDD1D % 2 ** 64 >> 16) % n

    def pick(self, items):
        return items[self.below(len(items))]


def assigned():
    """Every character of this Python's Unicode (14 with 3.11), private use left out."""
    return [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def strings(specials, known, seed=1, n_generated=1600):
    """At least 2,000 varied strings. `specials` are the special tokens to mix in, `known` the characters to draw."""
    r = Random(seed)
    words = [w for s in SENTENCES for w in s.split(" ") if w]
    out = [""] + SENTENCES + SPACES + PIECES + words + list(specials)
    out += [unicodedata.normalize(form, s) for s in SENTENCES for form in ("NFC", "NFD", "NFKC", "NFKD")]
    out += [a + b + c for a in ("", "x", "1", "!") for b in SPACES for c in ("", "x", "1", "!", "'s", "中")]
    out += [s.upper() for s in SENTENCES] + ["\n".join(SENTENCES), "".join(SENTENCES)]
    out += [c * n for c in ("a", "ab", " ", "\n", "!", "1", "中", "é", "\u0301", "👍", "Ġ", "aA1! ") for n in (2, 3, 8, 33, 257)]
    blocks = {}
    for c in known:
        blocks.setdefault(c >> 7, []).append(c)
    marks = [c for c in known if unicodedata.combining(chr(c))]
    for _ in range(n_generated):
        kind = r.below(8)
        n = 1 + r.below(24)
        if kind == 0:
            out.append("".join(chr(r.pick(known)) for _ in range(n)))
        elif kind == 1:
            block = blocks[r.pick(known) >> 7]
            out.append("".join(chr(r.pick(block)) for _ in range(n)))
        elif kind == 2:
            out.append("".join(r.pick("aeiouAEIOUncszCSZ q\u1100\u1161\uac00あがは") + "".join(chr(r.pick(marks)) for _ in range(r.below(4)))
                               for _ in range(n)))
        elif kind == 3:
            out.append("".join(r.pick(SPACES) if r.below(2) else r.pick(PIECES) for _ in range(n)))
        elif kind == 4:
            out.append("".join(r.pick(PIECES) for _ in range(n)))
        elif kind == 5:
            out.append("".join(chr(32 + r.below(95)) for _ in range(4 * n)))
        elif kind == 6:
            s = r.pick(SENTENCES)
            at = r.below(len(s))
            out.append(s[at:at + 1 + r.below(60)] + r.pick(SPACES) + r.pick(words))
        else:
            out.append("".join(r.pick([r.pick(PIECES), r.pick(SPACES), r.pick(words), r.pick(specials or [" "])]) for _ in range(n)))
    return out


def spoiled(texts, seed=2):
    """Bytes that are not UTF-8: stray, missing and impossible bytes, each invalid on its own. No overlong form, no
    surrogate, nothing past U+10FFFF: of those, decoders disagree on the number of characters."""
    r = Random(seed)
    out = []
    for text in texts:
        b = bytearray(text.encode())
        for _ in range(1 + r.below(3)):
            at = r.below(len(b) + 1)
            kind = r.below(3)
            if kind == 0:
                b[at:at] = bytes([r.pick([0x80, 0xBF, 0xFF, 0xFE, 0xF8, 0xC3, 0xE4, 0xF1])])
            elif kind == 1 and b:
                del b[min(at, len(b) - 1)]
            else:
                del b[at:]
        if strictly_spoiled(bytes(b)):
            out.append(bytes(b))
    return out


def strictly_spoiled(b):
    """Whether a decoder that knows only leads and continuations agrees with Unicode on what is well formed in `b`."""
    for i, lead in enumerate(b):
        second = b[i + 1] if i + 1 < len(b) else 0
        if not 0x80 <= second <= 0xBF:
            continue
        if lead in (0xC0, 0xC1) or (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F):
            return False
        if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F) or 0xF5 <= lead <= 0xF7:
            return False
    return True


if __name__ == "__main__":  # corpus.py OUT SPECIAL...: for the peer's tokenize program
    texts = strings(sys.argv[2:], assigned(), seed=5, n_generated=2400)
    everything = [s.encode() for s in texts] + spoiled(texts)
    with open(sys.argv[1], "wb") as out:
        for b in everything:
            out.write(struct.pack("<I", len(b)) + b)
