/**
 * The alerts and the board: every query names metrics that exist, with labels that they have; each alert has a runbook
 * line and a section in the guide; and Debian's promtool (package `prometheus`) checks and fires each alert. Where
 * promtool is missing, only its tests are skipped.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { parse } from 'yaml'
import { METRIC_NAMES, rowOf, type MetricName } from '#src/metrics/catalogue.ts'
import { PANELS, queryOf } from './board.ts'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

const { groups } = parse(read('alerts.yml')) as { groups: { rules: Alert[] }[] }
const alerts = groups.flatMap(({ rules }) => rules)

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
  for (const { title, targets = [] } of PANELS)
    it(`the panel "${title}" names metrics that exist`, () => targets.forEach(({ expr }) => checkQuery(expr)))
  it('the panels have ids of their own', () => {
    assert.lengthOf(new Set(PANELS.map(({ id }) => id)), PANELS.length)
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
      const { status, output } = runPromtool(args) ?? this.skip()
      assert.strictEqual(status, 0, output)
    })
  describe('promtool check rules, with the queries of the board', () => {
    let folder: string
    beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'mailstead-board-'))))
    afterEach(() => rmSync(folder, { recursive: true }))

    function check(queries: readonly string[]): ReturnType<typeof runPromtool> {
      const file = join(folder, 'board.yml')
      const rules = queries.map((expr, i) => ({ record: `board:query_${i}`, expr: queryOf(expr, '1m') }))
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }))
      return runPromtool(['check', 'rules', file])
    }
    it('accepts all of them', function () {
      const queries = PANELS.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      const { status, output } = check(queries) ?? this.skip()
      assert.strictEqual(status, 0, output)
      assert.include(output, `${queries.length} rules found`)
    })
    it('refuses one that is not PromQL', function () {
      const { status } = check(['sum by (mailstead_domains']) ?? this.skip()
      assert.notStrictEqual(status, 0)
    })
  })
})

/** null: it is not installed. */
function runPromtool(args: readonly string[]): { status: number | null; output: string } | null {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { cwd: import.meta.dirname })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return null
  return { status, output: `${stdout.toString()}${stderr.toString()}` }
}
