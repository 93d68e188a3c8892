/**
 * docs/reference/delivery-outcomes.md, row by row: each situation is arranged, one message is sent, and its first
 * attempt ends as the page says.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { markdownTable } from '#src/platform/markdown-table.ts'
import { createAuthority } from '#test/support/certificate.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import type { OutcomeCase, OutcomeSetup } from '#test/support/outcome-case.ts'
import { OUTCOME_GROUPS } from '#test/support/outcome-cases.ts'
import { startPolicyHost } from '#test/support/policy-host.ts'
import { startTestbed, type MessageDetails } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const PAGE = 'reference/delivery-outcomes.md'
/** Folders whose code creates outcomes. */
const MAKERS = ['mta', 'src/messages', 'src/operator', 'worker']
/** Files in which `reason:` is not the reason of an outcome. */
const APART = /\.test\.ts$|test-data|^mta\/(?:sandbox|submission|security|inbound|dry-run)\/|timeouts\.ts$/

/** The result of the first attempt, as a cell of the table. */
function describeOutcome({ recipients: [recipient], events }: MessageDetails): string {
  const attempt = recipient?.attempts[0]
  if (recipient === undefined || attempt === undefined) return 'nothing'
  if (attempt.outcome === 'delivered') return 'delivered'
  if (attempt.outcome === 'deferred')
    return `deferred, ${recipient.tries === 0 ? 'not counted' : 'counted'}: ${attempt.reason}`
  if (attempt.outcome === 'bounced')
    return `bounced, ${String(events.at(-1)?.data?.['bounce_type'])}: ${attempt.reason}`
  return `${attempt.outcome}: ${attempt.reason}`
}

function printTables(): string {
  return OUTCOME_GROUPS.map(({ title, cases }) => {
    const rows = cases.map(({ situation, outcome }) => [situation, outcome])
    return `### ${title}\n\n${markdownTable(['Situation', 'First attempt'], rows)}`
  }).join('\n\n')
}

/** The texts after `reason:`, and the reasons in tables and unions of the code. */
function reasonsInCode(): Set<string> {
  const files = MAKERS.flatMap((folder) =>
    readdirSync(new URL(`../../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  ).filter((name) => !APART.test(name))
  const texts = files.map((name) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
  const all = texts.join('\n')
  const word = '[a-z]+(?:-[a-z]+)*'
  const plain = [
    ...all.matchAll(
      new RegExp(`(?:reason: |reason\\)|SOURCE_LOST = |waits\\('[a-z]+', )(?:[^\\n']*\\? )?'(${word})'`, 'g'),
    ),
  ].map(([, reason]) => reason ?? '')
  const unions = [/type RouteRefusal = (.*)/, /why: ('retries-used'.*)/, /readonly reason: ('no-source'.*)/].flatMap(
    (union) =>
      [...(union.exec(all)?.[1] ?? assert.fail(String(union))).matchAll(/'([a-z-]+)'/g)].map(
        ([, reason]) => reason ?? '',
      ),
  )
  const classes = /const SCOPES[^{]*\{([^}]*)\}/.exec(all)?.[1] ?? assert.fail('SCOPES')
  const templates = new Set(
    [...all.matchAll(/reason: (?:[^`\n]*: )?`([^`]*)`/g)]
      .map(([, template]) => template ?? '')
      .filter((template) => !template.includes(' ')),
  )
  assert.deepEqual(
    [...templates].filter((template) => !(template in TEMPLATES)),
    [],
    'add the possible values of these templates to TEMPLATES',
  )
  return new Set([
    ...plain,
    ...unions,
    ...[...classes.matchAll(new RegExp(`'?(${word})'?:`, 'g'))].map(([, reason]) => reason ?? ''),
    ...[...templates].flatMap((template) => TEMPLATES[template] ?? []),
  ])
}

const TALKING = ['greeting', 'ehlo', 'starttls', 'tls', 'auth']
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  // a server can refuse only at a stage in which it sends replies
  '${stage}-refused': TALKING.filter((stage) => stage !== 'tls').map((stage) => `${stage}-refused`),
  '${stage}-failed': TALKING.map((stage) => `${stage}-failed`),
  'domain-${kind}': ['domain-gone', 'domain-not-verified'],
}

describe('delivery outcomes', () => {
  let setup: OutcomeSetup
  let numbers = 0
  const ids = new Map<OutcomeCase, string>()
  const folder = mkdtempSync('/tmp/mailstead-test-outcomes-')

  before(async () => {
    const authority = await createAuthority()
    const policies = await startPolicyHost(authority)
    const extraCaFile = join(folder, 'ca.pem')
    writeFileSync(extraCaFile, authority.cert)
    const testbed = await startTestbed({
      RETRY_SCALE: '100',
      EXTRA_CA_FILE: extraCaFile,
      MTA_STS_PORT: String(policies.port),
      DOT_TIMEOUT_SECONDS: '1',
    })
    setup = { testbed, authority, policies, certificate: await authority.issue(['any.test']) }
    for (const { cases } of OUTCOME_GROUPS) for (const one of cases) ids.set(one, await sendInto(one))
  })
  after(async () => {
    await setup.testbed.stop()
    await setup.policies.stop()
    rmSync(folder, { recursive: true })
  })

  async function sendInto(one: OutcomeCase): Promise<string> {
    const domain = `w${++numbers}.example`
    await one.arrange(setup, domain)
    return setup.testbed.send({ to: `ann@${domain}`, tier: 'bulk' })
  }

  it('the page has these tables', () => checkSection(PAGE, 'outcomes', printTables()))

  it('the page names every reason in the code', () => {
    const page = readFileSync(new URL(`../../docs/${PAGE}`, import.meta.url), 'utf8')
    const missing = [...reasonsInCode()].filter((reason) => !new RegExp(`^\\| (?:.*, )?\`${reason}\``, 'm').test(page))
    assert.deepEqual(missing, [])
  })

  it('stores host and reply of a server that refuses in its greeting, for the reply rules', async () => {
    const refused = [...ids].find(([{ situation }]) => situation === '554 in the greeting')
    let details: MessageDetails | null = null
    await until(async () => {
      details = await setup.testbed.getMessage(refused?.[1] ?? '')
      return describeOutcome(details) !== 'nothing'
    })
    const [attempt] = (details as MessageDetails | null)?.recipients[0]?.attempts ?? []
    assert.match(attempt?.host ?? '', /^mx1\.w\d+\.example$/)
    assert.containsSubset(attempt, { reply: { code: 554 }, source: null })
  })

  for (const { title, cases } of OUTCOME_GROUPS) {
    for (const one of cases) {
      it(`${title}: ${one.situation}`, async () => {
        let details: MessageDetails | null = null
        await until(async () => {
          details = await setup.testbed.getMessage(ids.get(one) ?? '')
          return describeOutcome(details) !== 'nothing'
        })
        assert.strictEqual(details === null ? null : describeOutcome(details), one.outcome)
        assert.notMatch(
          JSON.stringify(details).replaceAll(String.raw`\n`, ' '),
          /\\u00[01]/,
          'control characters are replaced',
        )
      })
    }
  }
})
