#!/usr/bin/env python3
"""The tokenizer of a Hugging Face folder: for folders of many kinds, made by the `tokenizers` library, our ids of awkward texts are those of
transformers' AutoTokenizer, or the folder is refused by file and key. Never another id."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

HUB_TOOL = pathlib.Path(os.environ["INLIER_HUB_TOOL"])
TEXTS = int(os.environ.get("INLIER_TOKENIZER_TEXTS", "1000"))  # For each kind of model, over its folders.
FOLDERS = int(os.environ.get("INLIER_TOKENIZER_FOLDERS", "40"))
SEED = int(os.environ.get("INLIER_TOKENIZER_SEED", "1"))

PROSE = ["In the beginning God created the heaven and the earth.", "And the earth was without form, and void; and darkness was upon the face of the deep.",
         "I'll say: it's 42nd street, we're there; don't you've 1,234.50?", "Naïve café Übergröße ÅNGSTRÖM straße İstanbul ΣΟΦΟΣ", "日本語のテキスト 中文 한국어 ไทย हिन्दी",
         "def f(x):\n    return x ** 2  # square\n\n\n", "price: $12.50 (≈ €11,30) — “quoted” … £9", "emoji 🙂👩‍👩‍👧 and flags 🇫🇷 ∑∫√ ⅷ ② ½ ٣٤"]
PIECES = ["a", "B", "the", " the", "  ", "\t", "\n", "\r\n", "\n\n \n", "'s", "'S", "'ll", "'ſ", "’s", "1", "12345", "٣", "½", "Ⅷ", "é", "e\u0301", "Ä", "ß", "İ", "ı", "ſ", "K", "Σ", "ς",
          "ﬁ", "①", "中", "文字", "ひ", "가", "\u1100\u1161", "🙂", "👩‍👩‍👧", "\u200d", "\u200b", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\x00", "\x7f", "\ufffd", "\ufeff",
          "_", "__x", "-", "—", "…", "...", "!?", "$", "€", "+", "<", ">", "|", "<|endoftext|>", "<unk>", "<s>", "</s>", "<pad>", "[CLS]", "[MASK]", "[UNK]", "[mask]", "<|user|>", "<new>", "x<new>y",
          " <new> ", "<Lower>", "<lower>", "##", "##ing", "▁", "▁the", "Ġ", "<0x0A>", "\u0915\u094d\u0937", "\u0e01\u0e33", "\u0300", "\u0345", "\U00020000", "\U0002b820", "\u166d", "\u1734", "don't",
          "WE'RE", "aaaaaaaaaaaaaaaa", "word" * 30, "x" * 120]


def awkward(rng):
    if rng.random() < 0.2:
        return rng.choice(PROSE)
    return "".join(rng.choice(PIECES) + rng.choice(["", "", " ", "  "]) for _ in range(rng.randint(0, 14)))


def flag(rng):
    return rng.random() < 0.5


def some_normalizer(rng, depth=0):
    one = [lambda: normalizers.BertNormalizer(flag(rng), flag(rng), rng.choice([None, True, False]), flag(rng)), normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD,
           normalizers.Lowercase, normalizers.StripAccents, lambda: normalizers.Strip(flag(rng), flag(rng)), lambda: normalizers.Prepend("▁"), lambda: normalizers.Replace(" ", "▁"),
           lambda: normalizers.Replace(Regex(r"\s{2,}"), " "), lambda: normalizers.Replace("e", "")]
    if depth == 0 and rng.random() < 0.4:
        return normalizers.Sequence([some_normalizer(rng, 1) for _ in range(rng.randint(0, 3))])
    return rng.choice(one)()


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BEHAVIORS = ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


def some_splitter(rng, depth=0, first=True):
    one = [pre_tokenizers.BertPreTokenizer, pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit, lambda: pre_tokenizers.Digits(flag(rng)),
           lambda: pre_tokenizers.Punctuation(rng.choice(BEHAVIORS)), lambda: pre_tokenizers.CharDelimiterSplit(rng.choice("a ▁")),
           lambda: pre_tokenizers.Metaspace("▁", rng.choice(["always", "never", "first"] if first else ["always", "never"]), flag(rng)),
           lambda: pre_tokenizers.Split(Regex(rng.choice([LLAMA3, QWEN2, CL100K, GPT2, O200K, r"\d", r"[a-z]+|\S", r"[^,.\-\s]+", "日|本"])), rng.choice(BEHAVIORS), flag(rng)),
           lambda: pre_tokenizers.Split(rng.choice([" ", "the", "▁"]), rng.choice(BEHAVIORS), flag(rng)), lambda: pre_tokenizers.ByteLevel(flag(rng), use_regex=flag(rng))]
    if depth == 0 and rng.random() < 0.4:
        return pre_tokenizers.Sequence([some_splitter(rng, 1, place == 0) for place in range(rng.randint(0, 3))])
    return rng.choice(one)()


def some_added(rng):
    contents = ["<|endoftext|>", "<|user|>", "<new>", "<Lower>", "<unk>", "[MASK]", "the", "ing", "  ", "é", "日本", "<new>y", "don"]
    return [AddedToken(content, single_word=flag(rng), lstrip=flag(rng), rstrip=flag(rng), normalized=flag(rng), special=flag(rng))
            for content in rng.sample(contents, rng.randint(0, 4))]


def byte_pair(rng):
    byte_level = rng.random() < 0.6
    fallback = not byte_level and rng.random() < 0.5
    settings = dict(unk_token=rng.choice([None, "<unk>"]), fuse_unk=flag(rng), byte_fallback=fallback, ignore_merges=flag(rng))
    if not byte_level and rng.random() < 0.3:
        settings.update(continuing_subword_prefix="##")
    if not byte_level and rng.random() < 0.3:
        settings.update(end_of_word_suffix="</w>")
    special = ["<unk>", "<s>", "</s>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if fallback else [])
    tokenizer = Tokenizer(models.BPE(**settings))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False) if byte_level else some_splitter(rng)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level and flag(rng) else []
    affixes = {key: settings[key] for key in ("continuing_subword_prefix", "end_of_word_suffix") if key in settings}
    tokenizer.train_from_iterator(PROSE * 3, trainers.BpeTrainer(vocab_size=len(special) + rng.randint(150, 500), special_tokens=special, initial_alphabet=alphabet, show_progress=False,
                                                                 **affixes))
    if byte_level:
        regex = pre_tokenizers.Split(Regex(rng.choice([LLAMA3, QWEN2, CL100K, GPT2, O200K])), "isolated")
        tokenizer.pre_tokenizer = rng.choice([pre_tokenizers.ByteLevel(flag(rng)), pre_tokenizers.Sequence([regex, pre_tokenizers.ByteLevel(flag(rng), use_regex=False)]),
                                              pre_tokenizers.Sequence([pre_tokenizers.Digits(flag(rng)), pre_tokenizers.ByteLevel(flag(rng))])])
    tokenizer.post_processor = rng.choice([processors.ByteLevel(), processors.TemplateProcessing(single="<s> $A", pair=None, special_tokens=[("<s>", 1)])])
    return tokenizer


def word_piece(rng):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=rng.choice([100, 5])))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    prefix = rng.choice(["##", "##", "_"])
    tokenizer.train_from_iterator(PROSE * 3, trainers.WordPieceTrainer(vocab_size=rng.randint(120, 400), special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False,
                                                                       continuing_subword_prefix=prefix))
    if flag(rng):
        tokenizer.pre_tokenizer = some_splitter(rng)
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=None, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


class TokenizersTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "model"
        self.model.mkdir()

    def ours(self, texts):
        """Our ids of each text, or the refusal."""
        (self.folder / "texts.json").write_text(json.dumps(texts))
        done = subprocess.run([HUB_TOOL, "ids", self.model, self.folder / "texts.json"], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def compare(self, texts, name):
        """True where the folder is read, with the ids of transformers; False where it is refused by a file of it."""
        ours = self.ours(texts)
        if isinstance(ours, str):
            self.assertRegex(ours, r"model/(tokenizer|tokenizer_config|vocab|merges|special_tokens_map|added_tokens)\.(json|txt): ", name)
            return False
        theirs = transformers.AutoTokenizer.from_pretrained(self.model)
        for text, ids in zip(texts, ours):
            expected = theirs(text, add_special_tokens=False)["input_ids"]
            if expected != ids:
                shown = theirs.backend_tokenizer.to_str()
                self.fail(f"{name}: {text!r}\n  theirs {theirs.convert_ids_to_tokens(expected)}\n  ours   {theirs.convert_ids_to_tokens(ids)}\n{shown[:3000]}")
        return True

    def random_folders(self, kind, make):
        read = refused = 0
        for number in range(FOLDERS):
            rng = random.Random(f"{SEED} {kind} {number}")
            tokenizer = make(rng)
            if rng.random() < 0.6:
                tokenizer.normalizer = some_normalizer(rng)
            tokenizer.add_tokens(some_added(rng))
            self.clear()
            tokenizer.save(str(self.model / "tokenizer.json"))
            config = {"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": rng.random() < 0.2}
            if flag(rng):
                config["add_prefix_space"] = flag(rng)
            if kind == "WordPiece" and flag(rng):
                config.update(tokenizer_class="BertTokenizer", do_lower_case=flag(rng), strip_accents=rng.choice([None, True, False]), tokenize_chinese_chars=flag(rng))
                if tokenizer.normalizer is None:
                    tokenizer.normalizer = normalizers.BertNormalizer()
                    tokenizer.save(str(self.model / "tokenizer.json"))
            (self.model / "tokenizer_config.json").write_text(json.dumps(config))
            texts = [awkward(rng) for _ in range(TEXTS // FOLDERS)]
            try:
                transformers.AutoTokenizer.from_pretrained(self.model)
            except Exception:  # Its own file is not one that it reads.
                continue
            if self.compare(texts, f"{kind} {number}"):
                read += 1
            else:
                refused += 1
        print(f"{kind}: {read} folders with equal ids, {refused} refused by name")
        self.assertGreater(read, FOLDERS // 2)

    def test_byte_pair_folders(self):
        self.random_folders("BPE", byte_pair)

    def test_word_piece_folders(self):
        self.random_folders("WordPiece", word_piece)

    def write(self, name, value):
        (self.model / name).write_text(value if isinstance(value, str) else json.dumps(value))

    def clear(self):
        for file in self.model.iterdir():
            file.unlink()

    def test_vocabularies_with_settings(self):
        """Folders without tokenizer.json: vocab.txt, or vocab.json and merges.txt, and the files next to them."""
        read = 0
        for number in range(FOLDERS):
            rng = random.Random(f"{SEED} vocabularies {number}")
            self.clear()
            bert = flag(rng)
            tokenizer = word_piece(rng) if bert else byte_pair(rng)
            tokenizer.model.save(str(self.model))
            tokens = [token for token in ("<s>", "<unk>", "</s>", "[CLS]", "[PAD]") if tokenizer.token_to_id(token) is not None]
            config = {"tokenizer_class": "BertTokenizer" if bert else "GPT2Tokenizer"}
            if bert:
                config.update(do_lower_case=flag(rng), strip_accents=rng.choice([None, True, False]), tokenize_chinese_chars=flag(rng))
            else:
                config.update(add_prefix_space=flag(rng), add_bos_token=flag(rng), bos_token=rng.choice(tokens), eos_token=rng.choice(tokens), unk_token=rng.choice(tokens), pad_token=rng.choice([None, *tokens]))
            form, added = rng.choice(["decoder", "older", "none"]), {}
            size = tokenizer.get_vocab_size()
            if form == "decoder":
                config["added_tokens_decoder"] = {str(size + place): json.loads(json.dumps({"content": content, "single_word": flag(rng), "lstrip": flag(rng), "rstrip": flag(rng),
                                                                                             "normalized": flag(rng), "special": flag(rng)})) for place, content in enumerate(["<|user|>", "<new>"])}
            elif form == "older":
                added = {"<|user|>": size, "<Lower>": size + 1}
                self.write("added_tokens.json", added)
                self.write("special_tokens_map.json", {"additional_special_tokens": ["<|user|>"]} if flag(rng) else {"mask_token": {"content": "<Lower>", "lstrip": True, "normalized": flag(rng)}})
            self.write("tokenizer_config.json", config)
            try:
                transformers.AutoTokenizer.from_pretrained(self.model)
            except Exception:
                continue
            read += self.compare([awkward(rng) for _ in range(TEXTS // FOLDERS)], f"vocabularies {number} {config}")
        print(f"vocabularies: {read} folders with equal ids")
        self.assertGreater(read, FOLDERS // 3)

    def test_classes_of_public_models(self):
        """The classes of Pythia, Qwen, RoBERTa, Gemma, and Llama: tokens that they add or change, next to those of tokenizer.json."""
        for name in ("GPTNeoXTokenizer", "Qwen2Tokenizer", "RobertaTokenizer", "GemmaTokenizer", "LlamaTokenizer"):
            read = 0
            for number in range(FOLDERS // 4):
                rng = random.Random(f"{SEED} {name} {number}")
                tokenizer = byte_pair(rng)
                tokenizer.add_tokens(some_added(rng))
                if flag(rng):
                    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=flag(rng)), AddedToken("<eos>"), AddedToken("<|endoftext|>")])
                self.clear()
                tokenizer.save(str(self.model / "tokenizer.json"))
                config = {"tokenizer_class": name + rng.choice(["", "Fast"]), "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
                if name != "LlamaTokenizer" and flag(rng):
                    config["add_prefix_space"] = flag(rng)
                if flag(rng):
                    config.update(mask_token="<mask>", pad_token="<pad>")
                self.write("tokenizer_config.json", config)
                try:
                    transformers.AutoTokenizer.from_pretrained(self.model)
                except Exception:
                    continue
                texts = [awkward(rng) for _ in range(4 * TEXTS // FOLDERS)] + ["a <mask> b<mask>", " <mask>\n", "x<eos> <bos>y", " <|endoftext|> "]
                read += self.compare(texts, f"{name} {number} {config}")
            print(f"{name}: {read} folders with equal ids")
            self.assertGreater(read, FOLDERS // 16, name)

    def test_no_wrong_file_wins(self):
        """Next to tokenizer.json a vocabulary changes nothing; a class of transformers that is not known is refused."""
        rng = random.Random(1)
        tokenizer = byte_pair(rng)
        tokenizer.save(str(self.model / "tokenizer.json"))
        self.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
        self.write("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
        self.assertTrue(self.compare([awkward(rng) for _ in range(20)], "vocab.txt beside"))
        self.write("tokenizer_config.json", {"tokenizer_class": "AlbertTokenizer"})
        self.assertIn("tokenizer_config.json: tokenizer_class: \"AlbertTokenizer\"", self.ours(["a"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
