import { assert } from 'chai'
import type { Measurement } from '#bench/harness/contender.ts'
import { describeMachine } from '#bench/harness/machine.ts'
import { writeReport } from './report.ts'
import { table } from './table.ts'
import type { Results } from './results.ts'
import type { ApiRun } from '#bench/scenarios/api.ts'
import type { Compared } from '#bench/scenarios/compare.ts'
import { judge } from './targets.ts'

function compared(name: string, ...rates: number[]): Compared {
  const ledger = { distinct: 1, doubled: 0, strays: 0, mixedUp: 0, unsigned: 0, firstAt: 0, lastAt: 0 }
  const run = (deliveredRate: number): Measurement => ({
    messages: 1,
    deliveredRate,
    acceptedRate: 9,
    cpuMs: { server: 1, mta: 1 },
    peakMb: { mta: 80 },
    foreignShare: 0.2,
    ledger,
    offences: [],
  })
  return { name, describe: name, runs: rates.map(run) }
}

function apiRuns(...rates: number[]): ApiRun[] {
  return rates.map((rate) => ({ rate, p50Ms: 1, p99Ms: 70, cpuMs: { server: 0.1, load: 0.01 }, foreignShare: 0 }))
}

const times = { count: 1, p50Ms: 3, p99Ms: 120, maxMs: 9 }
const drain = { queued: 1, messages: 1, cpuMs: 1, processMs: {}, rate: 100 }

describe('the targets', () => {
  const cases: readonly {
    name: string
    results: Results
    verdicts: readonly (readonly [measured: string, isMet: boolean | null])[]
  }[] = [
    { name: 'nothing was measured', results: {}, verdicts: [] },
    {
      name: 'the ratio is the median of the repeats, each with its own reference',
      results: { e2e: [compared('Haraka', 100, 200, 300), compared('Mailstead', 150, 500, 900)] },
      verdicts: [['2.50 x', true]],
    },
    {
      name: 'a missed ratio',
      results: { e2e: [compared('Postfix', 100), compared('Mailstead', 299)] },
      verdicts: [['2.99 x', false]],
    },
    {
      name: 'latency',
      results: { latency: { fromAccept: times, fromPost: times, offences: [] } },
      verdicts: [
        ['3 ms', true],
        ['120 ms', false],
      ],
    },
    {
      name: 'the worst phase counts; a queue that ran dry shows nothing',
      results: {
        backlog: {
          queued: 5,
          acceptedRate: 1,
          mtaPeakMb: 250.4,
          offences: [],
          phases: [4, 0].map((queuedAtEnd) => ({ name: 'a', sameSite: times, otherSite: times, queuedAtEnd })),
        },
      },
      verdicts: [
        ['not measured', null],
        ['not measured', null],
        ['250 MB', true],
      ],
    },
    {
      name: 'the API is compared round by round; what was not measured has no verdict',
      results: {
        api: {
          offences: [],
          works: [{ name: 'accept', ours: apiRuns(100, 300, 600), bare: apiRuns(1000, 1000, 1000) }],
        },
      },
      verdicts: [
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
          offences: [],
        },
      },
      verdicts: [
        ['1.10 x', true],
        ['1.25 x', false],
      ],
    },
  ]
  for (const { name, results, verdicts } of cases) {
    it(name, () =>
      assert.deepEqual(
        judge(results).map(({ measured, isMet }) => [measured, isMet]),
        verdicts,
      ),
    )
  }

  it('of the API are in the report beside the bare stack', () => {
    const works = [{ name: 'accept', ours: apiRuns(100, 300), bare: apiRuns(1000, 1000) }]
    const rows = writeReport(describeMachine(false), { api: { works, offences: [] } }, [])
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

  it('are in the report, with what the reader must know', () => {
    const results: Results = { e2e: [compared('Haraka', 100, 200, 300), compared('Mailstead', 150, 500, 900)] }
    const report = writeReport({ ...describeMachine(true), loadBefore: 3 }, results, judge(results))
    const line = report.split('\n').find((row) => row.includes('Mailstead (Mailstead)')) ?? ''
    assert.deepEqual(line.trim().split(/ {2,}/), [
      'Mailstead (Mailstead)',
      '500 (150 to 900)',
      '1.00 (1.00 to 1.00)',
      '20 (20 to 20) %',
      '2.50 (1.50 to 3.00)',
    ])
    assert.match(report, /times Haraka with DKIM +2\.50 x +at least 2\.00 x +4\.00 x +pass/)
    assert.match(report, /Other processes took up to 20 %/)
    assert.match(report, /in memory/)
    assert.match(report, /load 3\.0/)
  })
})

describe('a table', () => {
  it('is as wide as its cells', () =>
    assert.strictEqual(
      table([
        ['', 'a', 'bb'],
        ['row', '100', '1'],
      ]),
      '         a  bb\n  row  100   1',
    ))
})
