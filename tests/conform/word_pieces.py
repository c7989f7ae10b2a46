#!/usr/bin/env python3
"""Lines of text become the tokens that Hugging Face's BERT tokenizer makes of them.

Texts of many scripts, pairs, and random characters go through `hone run --data TEXT --vocab FILE`
into a model that sums up its inputs with a weight per position, and through `tokenizers`. The
command is found in HONE_BIN. Exits with 77 when the package is missing.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

try:
    from tokenizers import BertWordPieceTokenizer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
HONE = os.environ.get("HONE_BIN", "hone")
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[n,s] input_ids, int64[n,s] attention_mask, int64[n,s] token_type_ids) => (int64[n,1] y)
<int64 zero = {0}, int64 one = {1}, int64 step = {7919}, int64 first = {13}, int64 prime = {65521},
 int64 mask = {100003}, int64 type = {200003}, int64[1] axes = {1}> {
    shape = Shape <start = 1, end = 2> (input_ids)
    length = Squeeze (shape)
    places = Range (zero, length, one)
    stepped = Mul (places, step)
    moved = Add (stepped, first)
    weights = Mod (moved, prime)
    masks = Mul (attention_mask, mask)
    types = Mul (token_type_ids, type)
    two = Add (input_ids, masks)
    three = Add (two, types)
    weighted = Mul (three, weights)
    y = ReduceSum <keepdims = 1> (weighted, axes)
}
"""
TEXTS = (
    "The quick brown fox jumps over the lazy dog.", "Äpfel, Öl & Übermut: naïve café — déjà vu!",
    "ΑΒΓ Σίσυφος ὈΔΥΣΣΕΎΣ ΣΑΣ", "Ёлка и Йод; МОСКВА", "北京是中國的首都。hello世界", "안녕하세요 세계",
    "がぎぐげご パピプペポ カタカナ", "हिन्दी में पाठ — को", "İstanbul ISPARTA ıI ǅ ß ẞ ŉ ﬁ", "שלום עולם בְּרֵאשִׁית",
    "مَرْحَبًا بالعالم", "zero\u200bwidth\u00adhyphen\ufeffmark\u2028line\u00a0blank", "e\u0301 a\u030a o\u0308",
    "[MASK] is [SEP] and [mask] [UNK]x", "a" * 100, "a" * 101, "don't stop-believing, it's 3.14%", "😀 emoji 👍🏽 mixed",
    "豈更車 \U0002f800", "tab in", "first text of a pair\tsecond text, longer than the first one",
    "one\t", "\u037e \u1fef \u0340 \u2000", "C++ & C# <tag> {x} ~ ^ ` | \\", "\ue000private \x7f\x01control",
)


def random_lines(n):
    """Characters of all planes in words. `tokenizers` knows an old version of Unicode: they are of one
    that is older still."""
    source = random.Random(7)
    meant = [c for c in range(0x20, 0x30000)
             if unicodedata.ucd_3_2_0.category(chr(c)) == unicodedata.category(chr(c))
             and unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and chr(c) not in "\x1c\x1d\x1e\x85"]
    lines = []
    for _ in range(n):
        few = source.choice((0x180, 0x600, 0x3000, len(meant)))
        words = ("".join(chr(source.choice(meant[:few])) for _ in range(source.randint(1, 9)))
                 for _ in range(source.randint(1, 40)))
        lines.append("x " + " ".join(words) + " x")
    return lines


def vocabulary(lines, is_lower):
    """Special tokens, the characters of half of the texts, some of their words and pieces."""
    found = BertWordPieceTokenizer(vocab={t: i for i, t in enumerate(SPECIAL)}, lowercase=is_lower)
    words = {w for line in lines
             for w, _ in found.pre_tokenizer.pre_tokenize_str(found.normalizer.normalize_str(line))}
    characters = sorted({c for w in words for c in w})
    pieces = {p for w in sorted(words)[::3] for p in (w, w[:3], "##" + w[1:], "##" + w[2:4]) if p.strip("#")}
    kept = [c for i, c in enumerate(characters) if i % 8]
    tokens = SPECIAL + kept + ["##" + c for c in kept] + sorted(pieces)
    return list(dict.fromkeys(t for t in tokens if not set(t) & set("\n\r")))


def checksum(encoding):
    return sum((token + 100003 + 200003 * kind) * ((i * 7919 + 13) % 65521)
               for i, (token, kind) in enumerate(zip(encoding.ids, encoding.type_ids)))


def reference(tokenizer, line):
    first, tab, second = line.rstrip(" \t\r\v\f").partition("\t")
    return checksum(tokenizer.encode(first, second) if tab else tokenizer.encode(first))


def run(folder, *options):
    done = subprocess.run([HONE, "run", folder / "model.onnxtxt", "--data", folder / "lines.txt", "--vocab",
                           folder / "vocab.txt", "--json", *options], check=True, stdout=subprocess.PIPE)
    return [int(answer["value"]) for answer in json.loads(done.stdout)["answers"]]


def compare(folder, lines, is_lower, most):
    tokens = vocabulary(lines, is_lower)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8", newline="\n")
    tokenizer = BertWordPieceTokenizer(vocab={t: i for i, t in enumerate(tokens)}, lowercase=is_lower)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.enable_truncation(most)
    expected = [reference(tokenizer, line) for line in lines]
    options = ["--text-case", "lower" if is_lower else "keep", "--max-length", str(most)]
    n_failed = 0
    for batch in ("1", "7"):
        for line, one, other in zip(lines, expected, run(folder, *options, "--batch", batch)):
            if one != other:
                print(f"FAIL lower {is_lower}, at most {most}, batch {batch}: {line!r}")
                n_failed += 1
    return n_failed


def main():
    lines = list(TEXTS) + random_lines(300)
    lines += [f"{a}\t{b}" for a, b in zip(lines[30:60], lines[61:91])]
    n_failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.onnxtxt").write_text(MODEL)
        (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        for is_lower in (True, False):
            for most in (512, 24, 7):
                n_failed += compare(folder, lines, is_lower, most)
    print(f"{len(lines)} lines, {n_failed} failures")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
