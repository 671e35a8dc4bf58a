#!/usr/bin/env python3
"""Each alert of dashboard/prometheus has its page in docs/runbooks, and each page its alert."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALERTS = ROOT / "dashboard/prometheus/alerts.yml"
RUNBOOKS = ROOT / "docs/runbooks"
HEADINGS = ("Where to look", "What to do")


def alerts():
    """(name, the lines of its rule) of every alert."""
    parts = re.split(r"- alert: (\w+)\n", ALERTS.read_text())
    return list(zip(parts[1::2], parts[2::2], strict=True))


class AlertsTest(unittest.TestCase):
    def test_every_alert_names_its_severity_and_its_page(self):
        self.assertGreater(len(alerts()), 10)
        for name, rule in alerts():
            self.assertRegex(rule, r"labels: \{severity: (critical|warning)\}", name)
            self.assertIn(f"runbook: docs/runbooks/{name}.md}}", rule)

    def test_no_alert_is_there_twice(self):
        names = [name for name, _ in alerts()]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_every_alert_has_a_page_and_every_page_an_alert(self):
        self.assertEqual({name for name, _ in alerts()}, {page.stem for page in RUNBOOKS.iterdir()})

    def test_every_page_has_a_meaning_places_to_look_and_numbered_remedies(self):
        for name, _ in alerts():
            page = (RUNBOOKS / f"{name}.md").read_text()
            self.assertTrue(page.startswith(f"# {name}\n\n"), name)
            parts = re.split(r"(?m)^## (.+)$", page)
            meaning, sections = parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))
            self.assertLessEqual(set(HEADINGS), set(sections), name)
            places, remedies = (sections[heading] for heading in HEADINGS)
            self.assertGreater(len(meaning.split()), 10, f"{name}: what it means")
            self.assertRegex(places, r"(?m)^- ", f"{name}: where to look")
            self.assertRegex(remedies, r"(?m)^1\. ", f"{name}: what to do first")
            # Something to type: a command, a query, an option or a log line to search for.
            self.assertRegex(places + remedies, r"`[^`]+`|```", f"{name}: nothing to type")

    def test_pages_link_to_files_that_exist(self):
        for page in RUNBOOKS.iterdir():
            for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")


if __name__ == "__main__":
    unittest.main()
