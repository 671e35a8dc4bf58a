#!/usr/bin/env python3
"""Own data of every form: from the files to a table, and every mistake refused by `inlier check` with file, line and remedy. The guide is docs/guides/own-data.md."""
import gzip
import os
import unittest

import harness

BERT = "{bert: {layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}"
PNG = b"\x89PNG\r\n\x1a\n"


def rows(separator, quote=False):
    lines = [f"text{separator}label"]
    lines += [f'"{word}, number {i}"{separator}{label}' if quote else f"{word} number {i}{separator}{label}"
              for i in range(60) for word, label in (("good", "pos"), ("bad", "neg"))]
    return "\n".join(lines) + "\n"


class OwnDataTest(harness.FolderTest):
    def sweep(self, data, model=BERT, name="own"):
        return self.write("sweep.yaml", f"name: {name}\nbase:\n  model: {model}\n  data: {data}\n  training: {{steps: 2, batch_size: 4}}\n"
                                        "  evaluation: {batches: 1, batch_size: 4}\n")

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def check(self, data, *says, model=BERT, code=3):
        """What `check` prints as errors; its status is `code`."""
        done = harness.inlier("check", self.sweep(data, model), check=False)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)
        return done.stderr

    def labelled(self, name, content, *says, columns="text_column: text", **options):
        path = self.file(name, content)
        place = "sweep.yaml:4:33: data.classification." if says and options.get("code", 3) == 3 else ""
        return self.check(f"{{classification: {{path: {path}, {columns}, tokenizer: {{byte_pair: {{vocab_size: 300}}}}, sequence_length: 16}}}}",
                          *([place] if place else []), *says, **options)

    def test_forms_that_are_read(self):
        for name, content in (("a.csv", rows(",", True)), ("b.csv", "\ufeff" + rows(",").replace("\n", "\r\n")), ("c.tsv", rows("\t")), ("d.csv", rows(",").rstrip("\n")),
                              ("e.jsonl", "".join(f'{{"text": "word {i}", "label": {i % 2}}}\n' for i in range(60))),
                              ("f.json", "[" + ",\n".join(f'{{"text": "word {i}",\n "label": true}}, {{"text": "other {i}", "label": false}}' for i in range(60)) + "]")):
            with self.subTest(name):
                self.assertEqual("", self.labelled(name, content, code=0))

    def test_mistakes_in_labelled_rows(self):
        csv = rows(",")
        for name, content, says in (
                ("a.csv", csv.replace("text,label", "txt,label"), ("a.csv:1: no column \"text\"", "did you mean \"txt\"?")),
                ("b.csv", rows("\t"), ("b.csv:1: no column", "the ending .tsv")),
                ("c.tsv", csv, ("c.tsv:1: no column", "the ending .csv")),
                ("d.csv", rows(";"), ("d.csv:1: no column", "semicolons")),
                ("e.csv", csv.replace("text,label", "text,label,text"), ("e.csv:1: two columns have the heading \"text\"",)),
                ("f.csv", csv + "a, b,pos\n", ("f.csv:122: 3 cells, and there are 2 headings", "between quotation marks")),
                ("g.csv", csv + "\"not closed,pos\n", ("g.csv:122:1: the quotation mark that opens this cell is not closed",)),
                ("h.csv", csv + "5\" wide,pos\n", ("h.csv:122:2: a quotation mark inside a cell",)),
                ("i.csv", csv + " ,pos\n", ("i.csv:122: no text in the column \"text\"",)),
                ("j.csv", csv + "a,\n", ("j.csv:122: no label in the column \"label\"",)),
                ("k.csv", "text,label\n", ("k.csv: no rows",)),
                ("l.csv", "", ("l.csv: no rows",)),
                ("m.csv", csv.encode() + b"caf\xe9,pos\n", ("m.csv:122: byte 4 of the line is not UTF-8", "iconv")),
                ("n.csv", csv.encode() + b"a\0b,pos\n", ("n.csv:122: byte 2 of the line is zero",)),
                ("o.csv", csv.encode("utf-16"), ("o.csv: is UTF-16",)),
                ("p.csv.gz", gzip.compress(csv.encode()), ("p.csv.gz: is compressed by gzip",)),
                ("q.csv", csv.replace("\n", "\r"), ("q.csv:1:11: a carriage return alone",)),
                ("r.jsonl", '{"text": "a", "label": 1}\n{"text": "a", "label": 1\n', ("r.jsonl:2:25: not JSON",)),
                ("s.jsonl", '{"text": {"en": "a"}, "label": 1}\n{}\n', ("s.jsonl:1: the field \"text\" is of type object",)),
                ("t.json", '[{"text": "a", "label": 1},\n {"text": "b"', ("t.json:2:",)),
                ("u.json", '{"data": [{"text": "a", "label": 1}]}', ("u.json:1: no field \"label\"", "jq '.\"data\"'")),
                ("v.csv", "text,label\n" + "".join(f"text {i},pos\n" for i in range(60)), ("every training row is of one class",))):
            with self.subTest(name):
                self.labelled(name, content, *says)

    def test_labels_of_the_wrong_kind_or_of_one_part_alone(self):
        self.labelled("a.csv", rows(","), "a.csv:2: the label is not a number", columns="text_column: text, target: NUMBER")
        folder = self.folder / "parts"
        self.file("parts/train.csv", rows(","))
        self.file("parts/valid.csv", "text,label\nsome,neutral\n")
        names = "train_file: train.csv, validation_file: valid.csv"
        self.check(f"{{classification: {{path: {folder}, text_column: text, {names}}}}}", "valid.csv:2: the class of this validation row is not among the 2")
        self.check(f"{{classification: {{path: {folder}, text_column: text}}}}", "sweep.yaml:4:33: data.classification.train_file: no file train.tsv in", "did you mean \"train.csv\"?")
        # Numbers for columns of a file that has headings.
        self.labelled("b.csv", rows(","), "warning: ", "b.csv:1: columns are named by numbers", columns="text_column: '1', label_column: '2'", code=0)
        self.labelled("c.csv", rows(","), "name all columns by headings, or all by numbers", columns="text_column: text, label_column: '2'")

    def test_texts_links_and_folders(self):
        good = self.file("good.txt", "one text\nand another\n")
        link = self.folder / "link.txt"
        link.symlink_to(good)
        self.assertEqual("", self.check(f"{{text: {{path: {link}}}}}", code=0))
        for path, says in ((self.file("empty.txt", ""), "has 0 non-empty lines"), (self.file("one.txt", "a" * 3_000_000), "has 1 non-empty lines"),
                           (self.file("zero.txt", b"a\nb\0\n"), "zero.txt:2: byte 2 of the line is zero"), ("/dev/null", "is a device, not a regular file"),
                           (self.file("a.json", '[{"body": "a"}]'), "a.json:1: no field \"text\""), (self.file("folder/a.csv", "text\n").parent, "no .txt file in the folder")):
            with self.subTest(str(path)):
                self.check(f"{{text: {{path: {path}}}}}", "sweep.yaml:4:23: data.text.path: ", says)
        self.check(f"{{text: {{path: {self.file('mark.txt', chr(0xfeff) + 'a' + chr(10) + 'b')}}}}}", "warning: ", "byte order mark", code=0)
        self.check(f"{{text: {{path: {self.folder / 'none.txt'}}}}}", "warning: ", "sweep.yaml:4:23: data.text.path: no file", code=0)
        self.check(f"{{text: {{path: {good}, tokenizer: {{byte_pair: {{path: {self.folder / 'empty.txt'}}}}}}}}}", "data.text.tokenizer.byte_pair.path: ", "has 0 non-empty lines")
        if os.geteuid() != 0:
            good.chmod(0)
            self.check(f"{{text: {{path: {good}}}}}", "Permission denied")
        # What `run` needs is on this machine.
        done = harness.inlier("run", self.sweep(f"{{text: {{path: {self.folder / 'none.txt'}}}}}"), "--dir", self.folder / "state", check=False)
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertFalse((self.folder / "state").exists())

    def test_questions(self):
        good = '{"task": "a", "context": "one", "choices": ["x", "y"], "gold": 0}\n'
        text = self.file("text.txt", "".join(f"text number {i} of the file\n" for i in range(200)))

        def check(path, *says, model="{gpt2: {layers: 1, hidden_size: 32, heads: 2, ffn_size: 64}}", code=3, verb="check", more=()):
            sweep = self.write("sweep.yaml", f"name: own\nbase:\n  model: {model}\n  data: {{text: {{path: {text}, sequence_length: 16, tokenizer: {{byte_pair: {{vocab_size: 300}}}}}}}}\n"
                                             f"  training: {{steps: 2, batch_size: 4}}\n  evaluation: {{batches: 1, batch_size: 4, multiple_choice: {{path: {path}}}}}\n")
            done = harness.inlier(verb, sweep, *more, check=False)
            self.assertEqual(code, done.returncode, done.stdout + done.stderr)
            for part in says:
                self.assertIn(part, done.stderr + done.stdout)

        check(self.file("a.jsonl", good), code=0)
        for name, content, says in (("b.jsonl", good + "[]\n", "b.jsonl:2: this is of type array"), ("c.jsonl", good.replace("0}", "2}"), "c.jsonl:1: \"gold\""),
                                    ("d.jsonl", good.replace("gold", "label"), "d.jsonl:1: a key \"label\""), ("e.jsonl", "", "e.jsonl: has no question"),
                                    ("f.jsonl", good.replace('"x", ', ""), "f.jsonl:1: \"choices\" has 1 of them"), ("g.json", good, "is not a .jsonl file")):
            with self.subTest(name):
                check(self.file(name, content), "evaluation.multiple_choice.path: ", says)
        check(self.folder / "a.jsonl", "model.bert is not causal", model=BERT)
        check(self.folder / "none.jsonl", "warning: ", "sweep.yaml:6:", "evaluation.multiple_choice.path: no file", code=0)
        check(self.folder / "none.jsonl", "no file", verb="run", more=("--dir", self.folder / "state"))
        # What only the tokenizer and the model know: an answer of more tokens than the model reads.
        long = self.file("long.jsonl", good.replace('"y"', '"' + "y z " * 30 + '"'))
        check(long, "long.jsonl:1: \"choices\" has at place 1 a text of", "(max_positions): shorten it", code=1, verb="run", more=("--dir", self.folder / "state", "--slots", "1"))

    def test_images(self):
        images, vit = self.folder / "images", "{vit: {layers: 1, hidden_size: 32, heads: 2, ffn_size: 64, image_size: 8, patch_size: 4, channels: 3, classes: 2}}"
        data = f"{{images: {{path: {images}}}}}"
        for name in ("bird", "cat"):
            self.file(f"images/train/{name}/a.png", PNG)
        self.check(data, "has neither IDX files", model=vit)
        for name in ("bird", "cat"):
            self.file(f"images/validation/{name}/a.png", PNG)
        self.assertEqual("", self.check(data, model=vit, code=0))
        (images / "train/dog").mkdir()
        self.check(data, "no .png, .jpg or .jpeg file in", "train/dog", model=vit)
        self.file("images/train/dog/b.jpg", b"GIF89a")
        self.check(data, "validation lacks dog", model=vit)
        self.file("images/validation/dog/b.jpg", PNG)
        self.check(data, "b.jpg: neither a PNG nor a JPEG", "model.vit.classes: 2 are too few for the 3 classes", model=vit)

    def test_a_table_from_csv_with_a_vocabulary_of_other_text(self):
        words = self.file("words.json", '[{"body": "good and bad are words"}, {"body": "a number too"}, {"body": "and another one"}]')
        path = self.file("a.csv", rows(",", True))
        sweep = self.sweep(f"{{classification: {{path: {path}, text_column: text, tokenizer: {{byte_pair: {{vocab_size: 270, path: {words}, field: body}}}}, sequence_length: 16}}}}")
        done = harness.inlier("run", sweep, "--dir", self.folder / "state", "--slots", "1")
        self.assertIn("own", done.stdout)
        self.assertEqual([(1,)], [tuple(row) for row in harness.sql(self.folder / "state", "SELECT count(*) FROM results WHERE accuracy IS NOT NULL")])


if __name__ == "__main__":
    unittest.main()
