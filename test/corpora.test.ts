/**
 * Parses real bounces, complaints and automatic replies (test/corpora, see its LICENSE). It prints how many have the
 * expected result and fails if their share is below the threshold. `CORPUS_VERBOSE=1` lists each other mail.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { parseReport, type ReportedRecipient } from '#mta/classify/report.ts'

interface Expected {
  readonly recipient: string
  readonly hard?: boolean
}
interface Item {
  readonly file: string
  readonly format: 'dsn' | 'text' | 'arf' | 'autoreply' | 'other'
  /** False: sources differ on hard or soft; only the recipient counts. */
  readonly tables_agree?: boolean
  readonly expected: readonly Expected[]
}
type Misread = readonly [what: string, file: string, actual: string]

const FOLDER = join(import.meta.dirname, 'corpora')
const KINDS: Readonly<Record<Item['format'], readonly string[]>> = {
  dsn: ['bounce', 'delay'],
  text: ['bounce', 'delay'],
  arf: ['complaint'],
  autoreply: ['autoreply'],
  other: ['other'],
}
/** Minimum shares; for `false hard` the maximum. */
const THRESHOLDS = {
  kind: 0.97,
  'dsn recipients': 0.97,
  'text recipients': 0.85,
  'dsn hard': 0.92,
  'text hard': 0.85,
  'false hard': 0.03,
} as const

const lower = (text: string): string => text.toLowerCase()

function isRight(item: Item, addresses: readonly string[]): boolean {
  const expected = item.expected.map(({ recipient }) => lower(recipient))
  return item.format === 'text'
    ? addresses.some((address) => expected.includes(address))
    : addresses.length === expected.length && expected.every((address) => addresses.includes(address))
}

describe('corpus of real reports', () => {
  const items = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as Item[]
  const counts = new Map<string, { of: number; right: number }>()
  const misread: Misread[] = []
  const count = (what: string, isCounted: boolean, ...[file, actual]: readonly [string, string]): void => {
    const sum = counts.get(what) ?? { of: 0, right: 0 }
    counts.set(what, { of: sum.of + 1, right: sum.right + (isCounted ? 1 : 0) })
    if (isCounted === (what === 'false hard')) misread.push([what, file, actual])
  }

  function check(item: Item): void {
    const { kind, recipients } = parseReport(readFileSync(join(FOLDER, item.file)))
    count('kind', KINDS[item.format].includes(kind), item.file, kind)
    if (item.format !== 'dsn' && item.format !== 'text') return
    const addresses = recipients.map(({ address }) => lower(address))
    count(`${item.format} recipients`, isRight(item, addresses), item.file, addresses.join(', '))
    if (item.tables_agree !== false) for (const one of item.expected) checkHard(item, one, recipients)
  }

  function checkHard(item: Item, { recipient, hard }: Expected, recipients: readonly ReportedRecipient[]): void {
    const read = recipients.find(({ address }) => lower(address) === lower(recipient)) ?? recipients[0]
    const actual = `${recipient} should be ${hard === true ? 'hard' : 'soft'}: ${read?.class} ${read?.diagnostic}`
    count(`${item.format} hard`, read?.hard === hard, item.file, actual)
    if (hard === false) count('false hard', read?.hard === true, item.file, actual)
  }

  before(() => {
    items.forEach(check)
    for (const [what, { of, right }] of counts)
      process.stdout.write(`    ${what}: ${right} of ${of} (${((100 * right) / of).toFixed(1)} %)\n`)
    if (process.env['CORPUS_VERBOSE'] !== undefined)
      for (const line of misread) process.stdout.write(`    ${line.join(' | ')}\n`)
  })

  for (const [what, threshold] of Object.entries(THRESHOLDS)) {
    it(`${what}: ${what === 'false hard' ? 'at most' : 'at least'} ${threshold * 100} %`, () => {
      const { of, right } = counts.get(what) ?? { of: 0, right: 0 }
      assert.ok(of > 0)
      assert.ok(what === 'false hard' ? right / of <= threshold : right / of >= threshold, `${right} of ${of}`)
    })
  }
})
