import { assert } from 'chai'
import type { Measurement } from '#bench/harness/contender.ts'
import { describeMachine } from '#bench/harness/machine.ts'
import { writeReport } from './report.ts'
import { formatTable } from './table.ts'
import type { BenchResults } from './results.ts'
import type { ApiRun } from '#bench/scenarios/api.ts'
import type { ServerComparison } from '#bench/scenarios/compare.ts'
import { evaluateTargets } from './targets.ts'

function compared(name: string, ...rates: number[]): ServerComparison {
  const ledger = { distinct: 1, duplicates: 0, unexpected: 0, wrongBody: 0, unsigned: 0, firstAt: 0, lastAt: 0 }
  const run = (deliveredRate: number): Measurement => ({
    messages: 1,
    deliveredRate,
    acceptedRate: 9,
    cpuMs: { server: 1, mta: 1 },
    peakMb: { mta: 80 },
    signatureMs: 0.25,
    threadMs: { mta: { main: 0.5 } },
    otherCpuShare: 0.2,
    ledger,
    violations: [],
  })
  return { name, describe: name, mix: 'mixed', runs: rates.map(run) }
}

function apiRuns(...rates: number[]): ApiRun[] {
  return rates.map((rate) => ({ rate, p50Ms: 1, p99Ms: 70, cpuMs: { server: 0.1, load: 0.01 }, otherCpuShare: 0 }))
}

const times = { count: 1, p50Ms: 3, p99Ms: 120, maxMs: 9 }
const drain = { queued: 1, messages: 1, cpuMs: 1, processMs: {}, rate: 100 }

describe('the targets', () => {
  const cases: readonly {
    name: string
    results: BenchResults
    expected: readonly (readonly [measured: string, isMet: boolean | null])[]
  }[] = [
    { name: 'nothing was measured', results: {}, expected: [] },
    {
      name: 'the ratio is the median of the repeats, each with its own reference',
      results: { e2e: [compared('Haraka', 100, 200, 300), compared('Mailstead', 150, 500, 900)] },
      expected: [['2.50 x', true]],
    },
    {
      name: 'a ratio below the target is missed',
      results: { e2e: [compared('Postfix', 100), compared('Mailstead', 299)] },
      expected: [['2.99 x', false]],
    },
    {
      name: 'the cost of one load is that of its own row, in signatures of the same run',
      results: { e2e: [compared('Mailstead', 100), { ...compared('Mailstead, HTML', 100), mix: 'html' }] },
      expected: [['4.00 x', true]],
    },
    {
      name: 'each latency has its own target',
      results: { latency: { fromAccept: times, fromPost: times, violations: [] } },
      expected: [
        ['3 ms', true],
        ['120 ms', false],
      ],
    },
    {
      name: 'the worst phase counts; a phase whose queue ran empty is not measured',
      results: {
        backlog: {
          queued: 5,
          acceptedRate: 1,
          mtaPeakMb: 250.4,
          violations: [],
          phases: [4, 0].map((queuedAtEnd) => ({ name: 'a', sameSite: times, otherSite: times, queuedAtEnd })),
        },
      },
      expected: [
        ['not measured', null],
        ['not measured', null],
        ['250 MB', true],
      ],
    },
    {
      name: 'the API is compared round by round; a request that was not measured has no result',
      results: {
        api: {
          violations: [],
          comparisons: [{ name: 'accept', ours: apiRuns(100, 300, 600), bare: apiRuns(1000, 1000, 1000) }],
        },
      },
      expected: [
        ['0.30 x', true],
        ['70 ms', false],
      ],
    },
    {
      name: 'depth is compared with the short queue and with the end of the drain',
      results: {
        depth: {
          shallow: drain,
          deepFirst: { ...drain, cpuMs: 1.1, rate: 80 },
          deepLast: { ...drain, cpuMs: 1.05 },
          parts: [],
          violations: [],
        },
      },
      expected: [
        ['1.10 x', true],
        ['1.25 x', false],
      ],
    },
  ]
  for (const { name, results, expected } of cases) {
    it(name, () =>
      assert.deepEqual(
        evaluateTargets(results).map(({ measured, isMet }) => [measured, isMet]),
        expected,
      ),
    )
  }

  it('the report shows the API beside the bare stack', () => {
    const comparisons = [{ name: 'accept', ours: apiRuns(100, 300), bare: apiRuns(1000, 1000) }]
    const rows = writeReport(describeMachine(false), { api: { comparisons, violations: [] } }, [])
      .split('\n')
      .filter((row) => row.startsWith('  accept'))
    assert.deepEqual(
      rows.map((row) => row.trim().split(/ {2,}/).slice(0, 3)),
      [
        ['accept', '200 (100 to 300)', '0.20 (0.10 to 0.30)'],
        ['accept, bare', '1000 (1000 to 1000)', '1.0 (1.0 to 1.0)'],
      ],
    )
  })

  it('the report shows targets, and warns about other load and a disk in memory', () => {
    const results: BenchResults = { e2e: [compared('Haraka', 100, 200, 300), compared('Mailstead', 150, 500, 900)] }
    const report = writeReport({ ...describeMachine(true), loadBefore: 3 }, results, evaluateTargets(results))
    const line = report.split('\n').find((row) => row.includes('Mailstead (Mailstead)')) ?? ''
    assert.deepEqual(line.trim().split(/ {2,}/), [
      'Mailstead (Mailstead)',
      '500 (150 to 900)',
      '1.00 (1.00 to 1.00)',
      '4.0 (4.0 to 4.0)',
      '0.00 (0.00 to 0.00)',
      '20 (20 to 20) %',
      '2.50 (1.50 to 3.00)',
    ])
    assert.match(report, /times Haraka with DKIM +2\.50 x +at least 2\.50 x +5\.00 x +pass/)
    assert.match(report, /Other processes used up to 20 %/)
    assert.match(report, /in memory/)
    assert.match(report, /load 3\.0/)
  })
})

describe('a table', () => {
  it('makes each column as wide as its widest cell', () =>
    assert.strictEqual(
      formatTable([
        ['', 'a', 'bb'],
        ['row', '100', '1'],
      ]),
      '         a  bb\n  row  100   1',
    ))
})
