"""The check of the rules finds what is wrong: every kind of fault, planted."""

import pathlib
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: Debian's package python3-yaml is not installed")
    raise SystemExit(77) from None

import check_rules
import rules as rule_files

METRICS = """| name | type | unit | labels | when | what |
|---|---|---|---|---|---|
| `tributary_lost_total` | counter | count | `site`, `reason` |  | Lost. |
| `tributary_wait_seconds` | histogram | seconds | `site` |  | Wait. |
"""
ALERT = {"alert": "TributaryLost", "expr": 'sum by (site) (increase(tributary_lost_total{reason!="late"}[5m])) > 0',
         "labels": {"severity": "critical"},
         "annotations": {"summary": "{{ $labels.site }}", "description": "Lost.", "runbook": "docs/monitoring.md#tributarylost"}}


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "docs").mkdir()
        self.page("metrics.md", METRICS)
        self.page("monitoring.md", "# Monitoring\n\n### TributaryLost\n")
        self.metrics = rule_files.documented(self.root)

    def page(self, name, text):
        (self.root / "docs" / name).write_text(text, encoding="utf-8")

    def rules(self, **changes):
        return rule_files.Rules([{"record": "tributary:lost", "labels": {"place": "x"}, "expr": "sum by (site) (tributary_lost_total)"}],
                                [{**ALERT, **changes}])

    def query(self, text):
        return rule_files.query_faults(text, self.rules(), self.metrics)

    def alert(self, **changes):
        return check_rules.alert_faults(self.rules(**changes), self.metrics, self.root)

    def test_what_is_sound_has_no_fault(self):
        self.assertEqual(self.query(ALERT["expr"]), [])
        self.assertEqual(self.query('histogram_quantile(0.9, sum by (site, le) (rate(tributary_wait_seconds_bucket[5m])))'), [])
        self.assertEqual(self.query('sum by (site, place) (tributary:lost{place=~"x|y"})'), [])
        self.assertEqual(self.alert(), [])

    def test_a_metric_that_no_daemon_exports(self):
        self.assertEqual(self.query("rate(tributary_found_total[5m])"), ["no metric is called tributary_found_total"])
        self.assertIn("no metric is called tributary:found", self.query("tributary:found > 1"))

    def test_a_label_that_the_metric_does_not_have(self):
        for query in ("sum by (panel) (tributary_lost_total)", 'tributary_lost_total{panel="x"}', 'tributary_lost_total{panel=~"x"}'):
            self.assertEqual(self.query(query), ["no metric of the query has the label panel"], query)

    def test_a_text_that_shows_a_label_which_the_result_lacks(self):
        notes = {**ALERT["annotations"], "summary": "{{ $labels.reason }}"}
        self.assertEqual(self.alert(annotations=notes), ["TributaryLost: summary: {{reason}} is no label of the result"])

    def test_an_alert_without_severity_text_or_explanation(self):
        self.assertIn("severity", self.alert(labels={"severity": "bad"})[0])
        self.assertIn("no description", self.alert(annotations={**ALERT["annotations"], "description": ""})[0])
        for runbook, fault in (("docs/monitoring.md#nowhere", "no heading"), ("docs/no.md#x", "no page")):
            self.assertIn(fault, self.alert(annotations={**ALERT["annotations"], "runbook": runbook})[0])

    def test_an_explanation_without_its_alert(self):
        self.page("monitoring.md", "### TributaryLost\n\n### TributaryGone\n")
        self.assertEqual(self.alert(), ["docs/monitoring.md explains TributaryGone, which is no alert"])

    def test_an_alert_without_tests(self):
        (self.root / "tests").mkdir()
        checks = [{"expr": 'ALERTS{alertname="TributaryLost"}', "exp_samples": []}, {"expr": 'ALERTS{alertname="Gone"}', "exp_samples": [1]}]
        (self.root / "tests/a.yml").write_text(yaml.safe_dump({"tests": [{"promql_expr_test": checks}]}), encoding="utf-8")
        self.assertEqual(check_rules.test_faults(self.rules(), self.root),
                         ["TributaryLost: no test in which it fires", "Gone: a test names this alert, and there is none"])

    def test_a_loss_that_no_alert_reads(self):
        rows = "".join(f"| place | when | `tributary_lost_{i}_total` |\n" for i in range(20))
        self.page("architecture.md", f"## Where data can be lost, and where\n\n{rows}| spool | full | `tributary_{{lost,gone}}_total{{reason}}` |\n\n## Next\n")
        faults = check_rules.loss_faults(self.rules(), self.root)
        self.assertIn("tributary_gone_total: counts a loss, and no alert reads it", faults)
        self.assertNotIn("tributary_lost_total: counts a loss, and no alert reads it", faults)

    def test_a_table_of_losses_that_is_gone(self):
        self.page("architecture.md", "nothing\n")
        self.assertIn("not understood", check_rules.loss_faults(self.rules(), self.root)[0])


if __name__ == "__main__":
    unittest.main()
