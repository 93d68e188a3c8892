/**
 * Real bounces, complaints and auto-replies (test/corpora, see its LICENSE) through the reader: prints how many were read as expected, and fails
 * where it is less than what is promised. `CORPUS_VERBOSE=1` names each mail that was read otherwise.
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
type Misread = readonly [what: string, file: string, told: string]

const FOLDER = join(import.meta.dirname, 'corpora')
const KINDS: Readonly<Record<Item['format'], readonly string[]>> = {
  dsn: ['bounce', 'delay'],
  text: ['bounce', 'delay'],
  arf: ['complaint'],
  autoreply: ['autoreply'],
  other: ['other'],
}
/** Shares that must be reached; of `false-hard` the share that may be. */
const PROMISED = {
  kind: 0.97,
  'dsn recipients': 0.97,
  'text recipients': 0.85,
  'dsn hard': 0.92,
  'text hard': 0.85,
  'false hard': 0.03,
} as const

const lower = (text: string): string => text.toLowerCase()

function isRight(item: Item, addresses: readonly string[]): boolean {
  const wanted = item.expected.map(({ recipient }) => lower(recipient))
  return item.format === 'text'
    ? addresses.some((address) => wanted.includes(address))
    : addresses.length === wanted.length && wanted.every((address) => addresses.includes(address))
}

describe('the corpus of real reports', () => {
  const items = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as Item[]
  const counts = new Map<string, { of: number; right: number }>()
  const misread: Misread[] = []
  const count = (what: string, isCounted: boolean, ...[file, told]: readonly [string, string]): void => {
    const sum = counts.get(what) ?? { of: 0, right: 0 }
    counts.set(what, { of: sum.of + 1, right: sum.right + (isCounted ? 1 : 0) })
    if (isCounted === (what === 'false hard')) misread.push([what, file, told])
  }

  function judge(item: Item): void {
    const { kind, recipients } = parseReport(readFileSync(join(FOLDER, item.file)))
    count('kind', KINDS[item.format].includes(kind), item.file, kind)
    if (item.format !== 'dsn' && item.format !== 'text') return
    const addresses = recipients.map(({ address }) => lower(address))
    count(`${item.format} recipients`, isRight(item, addresses), item.file, addresses.join(', '))
    if (item.tables_agree !== false) for (const one of item.expected) judgeHard(item, one, recipients)
  }

  function judgeHard(item: Item, { recipient, hard }: Expected, recipients: readonly ReportedRecipient[]): void {
    const read = recipients.find(({ address }) => lower(address) === lower(recipient)) ?? recipients[0]
    const told = `${recipient} should be ${hard === true ? 'hard' : 'soft'}: ${read?.class} ${read?.diagnostic}`
    count(`${item.format} hard`, read?.hard === hard, item.file, told)
    if (hard === false) count('false hard', read?.hard === true, item.file, told)
  }

  before(() => {
    items.forEach(judge)
    for (const [what, { of, right }] of counts)
      process.stdout.write(`    ${what}: ${right} of ${of} (${((100 * right) / of).toFixed(1)} %)\n`)
    if (process.env['CORPUS_VERBOSE'] !== undefined)
      for (const line of misread) process.stdout.write(`    ${line.join(' | ')}\n`)
  })

  for (const [what, promised] of Object.entries(PROMISED)) {
    it(`${what}: ${what === 'false hard' ? 'at most' : 'at least'} ${promised * 100} %`, () => {
      const { of, right } = counts.get(what) ?? { of: 0, right: 0 }
      assert.ok(of > 0)
      assert.ok(what === 'false hard' ? right / of <= promised : right / of >= promised, `${right} of ${of}`)
    })
  }
})
