"""What cmake/corpora/to_text.pl makes of each kind of source: samples in, lines out."""
import os
import subprocess
import unittest

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "..", "cmake", "corpora", "to_text.pl")

GCIDE = r'''
00-database-info
   About the file.

   Last words about it.
Cot \Cot\ (k[o^]t), n. [OE. cot, cote, AS. cot, cote, cottage;
   akin to D. & Icel. kot, G. koth, kot. Cf. {Coat}.]
   1. A small house; a cottage or hut. [Obs.]
      [1913 Webster]

            The sheltered cot, the cultivated farm. --Goldsmith.
      [1913 Webster]

Cothurnus \Co*thur"nus\ (-n?s), n. [L.]
   Same as {Cothurn}. Of the family {Cotingid[ae]}.
   [1913 Webster] Cotillon

Cotillon \Co`til`lon"\ (k[-o]`t[-e]`y[^o]N" or k[-o]`t[-e]l`-;
   277), Cotillion \Co*til"lion\ (k[-o]*t[i^]l"y[u^]n), n. [F.
   cotillon, fr. OF. cote coat.]
   A brisk dance. [Written also {cotillion}.]
   [1913 Webster +PJC]

   [WordNet 1.5]
'''

ANARCHISM = '''<html><head><title>Not this</title></head><body><p>One <b>two</b>
 three &amp; four.</p><!-- nor this --><ul><li>An <i>item</i></li><li> </li></ul>
'''

WORDNET = '''  1 This software and database is being provided | to you
00001930 03 n 01 physical_entity 0 007 @ 00001740 n 0000 | an entity that exists; "it | is"
'''

KJV = '''
Genesis 1

  1 In the beginning God created the heaven and the earth.
 31 And God saw every thing that he had made.
'''


def to_text(corpus, source):
    return subprocess.run(["perl", SCRIPT, corpus], input=source, capture_output=True, text=True)


class ToTextTest(unittest.TestCase):
    def lines(self, corpus, source):
        result = to_text(corpus, source)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def test_dictionary_keeps_meanings_and_quotations(self):
        self.assertEqual(self.lines("gcide", GCIDE), [
            "Cot, n. 1. A small house; a cottage or hut. [Obs.]",
            "The sheltered cot, the cultivated farm. --Goldsmith.",
            "Cothurnus, n. Same as Cothurn. Of the family Cotingidae.",
            "Cotillon, Cotillion, n. A brisk dance. [Written also cotillion.]",
        ])

    def test_pages_become_paragraphs(self):
        self.assertEqual(self.lines("anarchism", ANARCHISM), ["One two three & four.", "An item"])

    def test_definitions_lose_their_numbers_and_the_licence(self):
        self.assertEqual(self.lines("wordnet", WORDNET), ['an entity that exists; "it | is"'])

    def test_definitions_are_labelled_with_their_lexicographers_file(self):
        self.assertEqual(self.lines("wordnet-classes", WORDNET + "00001740 29 v 04 breathe 0 | draw  air  \n00001837 44 a 01 x 0 | a\tb cd\n"), [
            "label\tsentence",
            'noun.Tops\tan entity that exists; "it | is"',
            "verb.body\tdraw air",
            "adj.ppl\ta b cd",
        ])
        result = to_text("wordnet-classes", "00001740 45 v 04 breathe 0 | draw air\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no lexicographer's file has the number 45", result.stderr)

    def test_verses_lose_their_numbers_and_headings(self):
        self.assertEqual(self.lines("kjv", KJV), [
            "In the beginning God created the heaven and the earth.",
            "And God saw every thing that he had made.",
        ])

    def test_what_is_no_dictionary_is_refused(self):
        result = to_text("gcide", "nothing of the kind\n\nat all\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no entry of the dictionary was recognised", result.stderr)

    def test_an_unknown_corpus_is_refused_with_those_there_are(self):
        result = to_text("brown", "")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no corpus 'brown'; there are: anarchism gcide kjv wordnet wordnet-classes", result.stderr)


if __name__ == "__main__":
    unittest.main()
