/**
 * Texts for people are correct in the singular: a count is followed by its noun through `countText`. A text `1 emails`
 * or `1 domains are` is found here, in the source, because a scenario rarely has exactly one of everything.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'

const ROOT = join(import.meta.dirname, '..')
/** Nouns that are counted. */
const NOUNS = [
  'accounts actions addresses attempts audiences automations calls campaigns changes checks connections contacts',
  'days deliveries domains emails endpoints entries errors events failures findings groups hours imports keys',
  'links mails members messages migrations nodes notices partials plans pools problems processes queues receivers',
  'recipients records replies reports rows rules segments sessions sources steps subscribers suppressions suspensions',
  'templates times users values versions warnings workspaces',
]
  .join('|')
  .replaceAll(' ', '|')
const COUNTED = new RegExp(String.raw`\$\{(?<count>(?!countText)[^{}\n]+)\} (?:[a-z]+ )?(?<noun>${NOUNS})\b`, 'g')
/** Numbers that are never 1: limits and periods of this program, which are constants. */
const CONSTANT = /^(?:[A-Z_]+(?:\.(?:max|limit))?|String\([A-Z_]+\)|[A-Z_]+ \/ (?:\d+|[A-Z_]+))$/
/** Names in place of counts, and periods in SQL. */
const ALLOWED: ReadonlySet<string> = new Set([
  'mta/transport/connection-test.ts: host connections',
  'mta/smtp-server/listener.ts: setting changes',
  'src/people/user-sessions.ts: sessionIdleHours hours',
])

function countsIn(file: string): string[] {
  return [...readFileSync(join(ROOT, file), 'utf8').matchAll(COUNTED)].flatMap(({ groups }) => {
    const { count = '', noun = '' } = groups ?? {}
    const found = `${file}: ${count} ${noun}`
    return CONSTANT.test(count) || ALLOWED.has(found) ? [] : [found]
  })
}

describe('texts for people', () => {
  it('count with countText, so that one of something is singular', () => {
    const files = globSync('{api,bin,config,mta,src,worker}/**/*.ts', { cwd: ROOT }).filter(
      (file) => !/\.test(?:-data)?\.ts$/.test(file),
    )
    assert.isAbove(files.length, 500)
    assert.deepEqual(files.flatMap(countsIn), [])
  })

  /** A time in a text of a command is `timeText`: UTC, and beside it the local time. JSON and files have UTC alone. */
  it('show the local time beside UTC', () => {
    const files = globSync('bin/**/*.ts', { cwd: ROOT }).filter((file) => !/\.test(?:-data)?\.ts$/.test(file))
    const found = files.flatMap((file) =>
      [
        ...readFileSync(join(ROOT, file), 'utf8').matchAll(
          /\$\{[^{}`]*toISOString\(\)(?<date>\.slice\(0, 10\))?[^{}`]*\}/g,
        ),
      ]
        .filter(({ groups }) => groups?.['date'] === undefined)
        .map(([text]) => `${file}: ${text}`),
    )
    assert.sameMembers(found, [
      // in the names and the contents of files
      'bin/backup/encryption.ts: ${new Date().toISOString()}',
      "bin/setup/settings-file.ts: ${new Date().toISOString().replaceAll(/[:.]/g, '')}",
    ])
  })

  const CASES: readonly (readonly [text: string, isFound: boolean])[] = [
    ['`${rows.length} rows`', true],
    ['`${a} of ${b} open messages`', true],
    ["`${countText(rows.length, 'row')}`", false],
    ['`${name} routes`', false],
  ]
  for (const [text, isFound] of CASES)
    it(`${isFound ? 'finds' : 'accepts'} ${text}`, () => assert.strictEqual(text.search(COUNTED) >= 0, isFound))
})
