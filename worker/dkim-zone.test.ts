/**
 * Delegated DKIM keys on real stores and a real DNS server, with a clock that is moved: the operator's command
 * publishes the zone, keys rotate by schedule, and failures of the command change nothing of what signs.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { claimZoneChanges, listZoneRecords } from '#src/domains/dkim-zone.ts'
import type { Domain } from '#src/domains/domains.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { domainRecords, serviceHostsOf } from '#src/domains/records.ts'
import { loadSendingDomain } from '#src/domains/signing-keys.ts'
import { sql } from '#src/stores/sql.ts'
import { createDomainChecks, type DomainChecks } from '#test/support/domain-checks.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { until } from '#test/support/until.ts'
import { createDkimZoneRound, createKeyScheduleRound } from './dkim-zone.ts'
import { createDomainCheckRound } from './domains.ts'
import { findKeyNotices } from './key-notices.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ZONE = 'keys.operator.example'

describe('delegated DKIM keys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dkim-zone-'))
  const changes = join(folder, 'changes')
  const refusal = join(folder, 'refuse')
  /** The next call of the command waits until `held` is removed. */
  const [hold, held] = [join(folder, 'hold'), join(folder, 'held')]
  let testbed: DomainTestbed
  let time: DomainChecks
  let workspaceId: string
  let publishRound: () => Promise<boolean>
  let scheduleRound: () => Promise<boolean>
  before(async () => {
    testbed = await createDomainTestbed({
      DKIM_ZONE: ZONE,
      DKIM_ZONE_COMMAND: [
        `if test -e ${refusal}; then echo REFUSED >&2; exit 2; fi`,
        `if mv ${hold} ${held} 2>/dev/null; then while test -e ${held}; do sleep 0.05; done; fi`,
        `cat >> ${changes}`,
      ].join('\n'),
      DKIM_ROTATION_DAYS: '90',
    })
    publishRound = createDkimZoneRound(testbed.ctx)
    scheduleRound = createKeyScheduleRound(testbed.ctx)
    const check = createDomainCheckRound(testbed.ctx)
    time = createDomainChecks(testbed, async () => {
      await scheduleRound()
      await publish()
      await check()
    })
  })
  after(async () => {
    await testbed.close()
    rmSync(folder, { recursive: true })
  })
  beforeEach(async () => {
    await testbed.ctx.db.query('DELETE FROM domains')
    await testbed.ctx.db.query('DELETE FROM dkim_zone_records')
    workspaceId = await testbed.ctx.newWorkspace()
    rmSync(refusal, { force: true })
    time.reset()
  })

  /** A round, and the name server that the command sends its lines to. */
  async function publish(): Promise<string[]> {
    writeFileSync(changes, '')
    await publishRound()
    const lines = readFileSync(changes, 'utf8').trim().split('\n').filter(Boolean)
    for (const line of lines) {
      const [, action, name = '', rest = ''] = /^(\w+) (\S+)\. ?(.*)$/.exec(line) ?? []
      if (action === 'remove') delete testbed.dns.zone[name]
      else testbed.dns.zone[name] = { TXT: [[...rest.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join('')] }
    }
    return lines
  }
  const selectors = async (domain: Domain, state: string): Promise<string[]> =>
    (await testbed.read(domain)).keys.filter((key) => key.state === state).map(({ selector }) => selector)
  const signing = async (domain: Domain): Promise<string> => {
    const sending = await loadSendingDomain(testbed.ctx, domain.id)
    return sending.kind === 'ready' ? sending.keys.map(({ selector }) => selector.replace(/^ms-.{8}-/, '')).join() : ''
  }
  const notices = async (): Promise<string[]> =>
    (await findKeyNotices(testbed.ctx)).map(({ kind, subject, text }) => `${kind} ${subject}: ${text}`)
  const isGone = (domain: Domain): Promise<boolean> => removeDomain(testbed.ctx, workspaceId, domain.id)

  it('rotate between two names for years, without a change in the zone of the domain', async () => {
    const domain = await time.addVerified(workspaceId)
    const owned = JSON.stringify(
      domainRecords(domain, serviceHostsOf(testbed.ctx.config)).map(({ name, value }) => [name, value]),
    )
    assert.strictEqual(await signing(domain), 'a,a-ed')
    const signed = new Set<string>()
    for (let day = 0; day < 300; day += 1) {
      await time.pass(DAY, DAY)
      await time.pass(30 * MINUTE, 10 * MINUTE)
      signed.add(await signing(domain))
      const { status } = await testbed.read(domain)
      assert.strictEqual(status, 'verified')
    }
    assert.deepEqual([...signed], ['a,a-ed', 'b,b-ed'], 'always one pair')
    assert.strictEqual(await signing(domain), 'b,b-ed', 'rotated three times')
    const now = await testbed.read(domain)
    assert.strictEqual(
      JSON.stringify(domainRecords(now, serviceHostsOf(testbed.ctx.config)).map(({ name, value }) => [name, value])),
      owned,
    )
    const { rows } = await testbed.ctx.db.query<{ n: number }>(
      sql`
        SELECT count(*)::int AS n
        FROM audit_log
        WHERE actor_kind = 'schedule' AND kind = 'dkim_key' AND after ->> 'domain_id' = $1
      `,
      [domain.id],
    )
    assert.strictEqual(rows[0]?.n, 6, 'each new key is in the audit log')
  })

  it('publish a retired key for a week, then as revoked, then not at all', async () => {
    const domain = await time.addVerified(workspaceId)
    await rotateDkimKeys(testbed.ctx, { workspaceId, id: domain.id })
    assert.strictEqual((await publish()).length, 2, 'the next pair')
    await time.pass(HOUR, 5 * MINUTE)
    assert.strictEqual(await signing(domain), 'b,b-ed')
    const old = (await testbed.read(domain)).keys.find(({ state }) => state === 'retired')?.target ?? ''
    const tag = (): string | undefined => testbed.dns.zone[old]?.TXT?.[0]?.replace(/^.*p=/, '').slice(0, 4)
    assert.strictEqual(tag(), 'MIIB', 'mail in transit still verifies')
    const soon = await rotateDkimKeys(testbed.ctx, { workspaceId, id: domain.id })
    assert.strictEqual(soon.kind, 'too-soon')
    await time.pass(9 * DAY, DAY + HOUR)
    assert.strictEqual(tag(), '', 'revoked (RFC 6376 3.6.1)')
    await time.pass(33 * DAY, DAY + HOUR)
    await publish()
    assert.strictEqual(testbed.dns.zone[old], undefined)
    assert.deepEqual(
      (await testbed.read(domain)).keys.map(({ state }) => state),
      ['active', 'active'],
    )
  })

  it('of a domain with TXT records stay valid until its owner has published the CNAMEs', async () => {
    const domain = await time.addVerified(workspaceId)
    await testbed.ctx.db.query('UPDATE domains SET dkim_zone = NULL WHERE id = $1', [domain.id])
    await testbed.ctx.db.query(
      `UPDATE dkim_keys SET target = NULL, selector = 'old' || left(algorithm, 1) WHERE domain_id = $1`,
      [domain.id],
    )
    testbed.unpublish(domain)
    testbed.publish(await testbed.read(domain))
    assert.strictEqual((await testbed.verify(domain)).kind, 'verified')
    assert.strictEqual(
      (await rotateDkimKeys(testbed.ctx, { workspaceId, id: domain.id, delegate: true })).kind,
      'begun',
    )
    await time.pass(2 * DAY, 6 * HOUR)
    assert.strictEqual(await signing(domain), 'oldr,olde')
    assert.match((await notices()).join('\n'), /dkim-key .*must publish the CNAME records/)
    testbed.publish(await testbed.read(domain), ({ type }) => type === 'CNAME')
    await time.pass(2 * HOUR, 20 * MINUTE)
    assert.strictEqual(await signing(domain), 'a,a-ed')
    assert.deepEqual(await selectors(domain, 'retired'), ['oldr', 'olde'])
    assert.deepEqual(await notices(), [])
  })

  it('while the command fails the present key signs, and a notice says so', async () => {
    const domain = await time.addVerified(workspaceId)
    writeFileSync(refusal, '')
    await rotateDkimKeys(testbed.ctx, { workspaceId, id: domain.id })
    await time.pass(3 * HOUR, 10 * MINUTE)
    assert.strictEqual(await signing(domain), 'a,a-ed')
    assert.match(
      (await notices()).join('\n'),
      /dkim-zone keys\.operator\.example: 2 changes .* \(the command ended with 2: REFUSED\)/,
    )
    rmSync(refusal)
    await time.pass(4 * HOUR, 20 * MINUTE)
    assert.strictEqual(await signing(domain), 'b,b-ed')
    assert.deepEqual(await notices(), [])
  })

  it('of a domain with half of its CNAMEs are not rotated, and a notice names the other half', async () => {
    const domain = await testbed.add(workspaceId)
    testbed.publish(domain, ({ name }) => !/-b(-ed)?\./.test(name))
    await time.pass(3 * MINUTE)
    await time.pass(93 * DAY, DAY)
    assert.strictEqual(await signing(domain), 'a,a-ed')
    assert.deepEqual(await selectors(domain, 'waiting'), [])
    assert.match((await notices()).join('\n'), /dkim-key .*must publish the CNAME record ms-.{8}-b\._domainkey/)
  })

  it('are published once by several workers, and removed from the zone with their domain', async () => {
    const domain = await testbed.add(workspaceId)
    writeFileSync(changes, '')
    await Promise.all([publishRound(), publishRound(), publishRound()])
    assert.strictEqual(readFileSync(changes, 'utf8').trim().split('\n').length, 2)
    assert.ok(await isGone(domain))
    const lines = await publish()
    assert.ok(lines.length === 2 && lines.every((line) => line.startsWith('remove ')), lines.join('\n'))
    assert.deepEqual(await listZoneRecords(testbed.ctx.db), [])
  })

  it('a claim whose worker died is published by another one', async () => {
    await testbed.add(workspaceId)
    assert.lengthOf(await claimZoneChanges(testbed.ctx, 50), 2)
    assert.deepEqual(await publish(), [])
    time.advance(3 * MINUTE)
    assert.strictEqual((await publish()).length, 2)
  })

  /** Publishes slowly what the command has read, runs `meanwhile`, and returns what the zone has in the end. */
  async function publishDuring(meanwhile: () => Promise<unknown>): Promise<string[]> {
    writeFileSync(changes, '')
    writeFileSync(hold, '')
    await testbed.ctx.db.query(`UPDATE dkim_zone_records SET due_at = now() - interval '1 minute'`)
    const slow = publishRound()
    await until(() => Promise.resolve(existsSync(held)))
    await meanwhile()
    rmSync(held)
    await slow
    await until(async () => {
      await publishRound()
      return (await listZoneRecords(testbed.ctx.db, { pendingOnly: true })).length === 0
    })
    const last = new Map(
      readFileSync(changes, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => [line.split(' ')[1], /p=(\w*)/.exec(line)?.[1] ?? 'removed']),
    )
    return [...last.values()]
  }
  const changeKeys = (): Promise<unknown> => testbed.ctx.db.query(`UPDATE dkim_keys SET dns_value = 'v=DKIM1; p=NEW'`)

  const DURING: readonly (readonly [what: string, meanwhile: () => Promise<unknown>, last: readonly string[]])[] = [
    ['that changes', changeKeys, ['NEW', 'NEW']],
    ['that another worker could publish', () => changeKeys().then(publishRound), ['NEW', 'NEW']],
    [
      'whose claim has ended',
      async () => {
        await changeKeys()
        time.advance(3 * MINUTE)
        await publishRound()
      },
      ['NEW', 'NEW'],
    ],
    ['that is removed', () => testbed.ctx.db.query('DELETE FROM domains').then(publishRound), ['removed', 'removed']],
  ]
  for (const [what, meanwhile, last] of DURING)
    it(`a record ${what} while an old value of it is published has its last value in the end`, async () => {
      await testbed.add(workspaceId)
      assert.deepEqual(await publishDuring(meanwhile), last)
    })

  it('are claimed for one zone at a time, each for the whole time of a claim', async () => {
    const names = ['a.1.old.example', 'b.1.old.example', 'a.2.new.example']
    await testbed.ctx.db.query(
      sql`
        INSERT INTO dkim_zone_records (name, value, due_at)
        SELECT n, 'v=DKIM1; p=x', now() - interval '1 hour' * i
        FROM unnest($1::text[]) WITH ORDINALITY AS t (n, i)
      `,
      [names.toReversed()],
    )
    const claim = async (): Promise<string[]> => (await claimZoneChanges(testbed.ctx, 50)).map(({ name }) => name)
    assert.sameMembers(await claim(), names.slice(0, 2))
    assert.deepEqual(await claim(), names.slice(2))
    assert.deepEqual(await claim(), [])
  })
})
