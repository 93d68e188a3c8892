/**
 * The alerts and the board: every query names metrics that exist, with labels that they have; each alert has a runbook
 * line and a section in the guide; and Debian's promtool (package `prometheus`) checks and fires each alert. Where
 * promtool is missing, only its tests are skipped.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { parse } from 'yaml'
import { METRIC_NAMES, rowOf, type MetricName } from '#src/metrics/catalogue.ts'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

const { groups } = parse(read('alerts.yml')) as { groups: { rules: Alert[] }[] }
const alerts = groups.flatMap(({ rules }) => rules)
const board = JSON.parse(read('grafana-dashboard.json')) as {
  readonly panels: { readonly id: number; readonly title: string; readonly targets?: { readonly expr: string }[] }[]
}

/** Series of a histogram have a suffix. */
function metricOf(name: string): MetricName | undefined {
  return METRIC_NAMES.find(
    (metric) => metric === name || (rowOf(metric).type === 'histogram' && name.startsWith(`${metric}_`)),
  )
}

function checkQuery(query: string): void {
  const selectors = [...query.matchAll(/\b((?:mailstead|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
  assert.isNotEmpty(selectors, query)
  for (const [, name = '', matchers = ''] of selectors) {
    const metric = metricOf(name)
    if (metric === undefined) return assert.fail(`${query}: no metric ${name}`)
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g))
      assert.include([...rowOf(metric).labels, 'role', 'node'], label, query)
    const isCounted = rowOf(metric).type !== 'gauge'
    assert.strictEqual(new RegExp(`(rate|increase)\\(${name}`).test(query), isCounted, `${query}: ${name}`)
  }
}

describe('monitoring', () => {
  const guide = read('../../docs/guides/monitoring.md')
  for (const { alert, expr, labels, annotations } of alerts)
    it(`${alert} names metrics that exist, and its runbook`, () => {
      checkQuery(expr)
      assert.include(['warning', 'critical'], labels.severity)
      assert.match(annotations['summary'] ?? '', /\.$/)
      assert.include(guide, `### ${alert}\n`)
      assert.include(guide, annotations['runbook'] ?? 'a runbook')
      assert.strictEqual(annotations['runbook_page'], `docs/guides/monitoring.md#${alert.toLowerCase()}`)
    })
  for (const { title, targets = [] } of board.panels)
    it(`the panel "${title}" names metrics that exist`, () => targets.forEach(({ expr }) => checkQuery(expr)))
  it('the panels have ids of their own', () => {
    assert.lengthOf(new Set(board.panels.map(({ id }) => id)), board.panels.length)
  })
  it('a query with an unknown metric or label, or a counter without rate, is refused', () => {
    for (const query of ['mailstead_nothing', 'mailstead_domains{color="red"}', 'mailstead_complaints_total'])
      assert.throws(() => checkQuery(query))
  })
  it('every alert is fired by alerts-test.yml', () => {
    const { tests } = parse(read('alerts-test.yml')) as { tests: { name: string }[] }
    assert.deepEqual(
      tests.map(({ name }) => name),
      alerts.map(({ alert }) => alert),
    )
  })
  for (const args of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts-test.yml'],
  ])
    it(`promtool ${args.join(' ')}`, function () {
      const { error, status, stdout, stderr } = spawnSync('promtool', args, { cwd: import.meta.dirname })
      if (error !== undefined && 'code' in error && error.code === 'ENOENT') this.skip()
      assert.strictEqual(status, 0, `${stdout.toString()}${stderr.toString()}`)
    })
})
